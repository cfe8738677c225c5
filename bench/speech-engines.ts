import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { energyDetector } from '../src/engines/speech/energy-detector.ts';
import { createRecognizer } from '../src/engines/speech/recognizer.ts';
import { highest } from '../src/engines/speech/scores.ts';
import { createSpeechEngine } from '../src/engines/speech/speech-engine.ts';
import { createSpeechServer } from '../src/engines/speech/speech-server.ts';
import type { EncodedSpeech, Reading, Step, WhisperModel } from '../src/engines/speech/whisper-model.ts';
import type { SpeechEngine } from '../src/engines/speech-engine.ts';

/**
 * The engine with its client, socket, server and queue, but in this process, and with an encoder that remembers the last
 * speech: what it is asked of one speech again and again, with other vocabularies, costs the decoder alone, and the plain reading once.
 */
export async function engineWithMemory(whisper: WhisperModel): Promise<SpeechEngine> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-bench-'));
  const socket = join(folder, 'speech');
  const recognizer = createRecognizer(rememberingLast(whisper));
  const needs = { recognizer, voice: energyDetector, token: undefined, queuePlacesMax: 4, queueWaitMsMax: 600_000 };
  const server = createServer(createSpeechServer(needs));
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  return createSpeechEngine({
    process: {
      ready: async () => ({ socket, model: recognizer.model }),
      gone: async () => false,
      state: 'ready',
      async stop() {
        server.close();
        server.closeAllConnections();
        rmSync(folder, { recursive: true });
      },
    },
  });
}

function rememberingLast(whisper: WhisperModel): WhisperModel {
  let last: { readonly samples: Float32Array; readonly speech: EncodedSpeech } | undefined;
  return {
    ...whisper,
    async encode(samples) {
      if (!last || Buffer.compare(bytesOf(last.samples), bytesOf(samples)) !== 0)
        last = { samples, speech: rememberingSteps(await whisper.encode(samples), whisper.tokens.startOfPrevious) };
      return last.speech;
    },
  };
}

const bytesOf = ({ buffer, byteOffset, byteLength }: Float32Array): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);

/** What comes behind these tokens, and where a reading of them stands. */
interface Remembered {
  readonly step: Step;
  readonly reading: Reading;
  readonly next: Map<string, Promise<Remembered>>;
}

/** Readings without a prompt are the same whatever the vocabulary is: each of their steps is made once. */
function rememberingSteps(speech: EncodedSpeech, startOfPrevious: number): EncodedSpeech {
  const first = new Map<string, Promise<Remembered>>();
  const goOn = async (from: Reading, tokens: readonly number[]): Promise<Remembered> => {
    const reading = from.fork();
    const step = await reading.step(tokens);
    return { step, reading, next: new Map() };
  };
  const readFrom = (at: { readonly reading: Reading; readonly next: Remembered['next'] }): Reading => {
    let place = at;
    return {
      async step(tokens) {
        const key = tokens.join();
        let known = place.next.get(key);
        if (!known) {
          known = goOn(place.reading, tokens);
          if (tokens[0] !== startOfPrevious) place.next.set(key, known);
        }
        const after = await known;
        place = after;
        return { ...after.step, scores: after.step.scores.slice() };
      },
      fork: () => readFrom(place),
    };
  };
  return { read: () => readFrom({ reading: speech.read(), next: first }) };
}

/** As many as the engine takes at most. */
const BARE_TOKENS_MAX = 224;

/** The same weights without any of ours around them: encoder once, then the likeliest token until the end. */
export async function readBare(whisper: WhisperModel, samples: Float32Array): Promise<string> {
  const { tokens } = whisper;
  const speech = await whisper.encode(samples);
  const language = tokens.languages.get('en') ?? 0;
  const reading = speech.read();
  const text: number[] = [];
  let next: readonly number[] = [tokens.start, language, tokens.transcribe, tokens.noTimestamps];
  while (text.length < BARE_TOKENS_MAX) {
    const { scores } = await reading.step(next);
    for (const token of [...tokens.suppressed, ...(text.length === 0 ? tokens.suppressedFirst : [])])
      scores[token] = -Infinity;
    const best = highest(scores.subarray(0, tokens.end + 1));
    if (best === tokens.end) break;
    text.push(best);
    next = [best];
  }
  return tokens.decode(text).trim();
}
