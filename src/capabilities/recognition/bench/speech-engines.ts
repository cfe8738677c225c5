import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BEAM_WIDTH_DEFAULT } from '../../../config/limits.ts';
import { createSequentialBatch } from '../../../engines/speech/__fixtures__/sequential-batch.ts';
import { energyDetector } from '../../../engines/speech/energy-detector.ts';
import { createRecognizer } from '../../../engines/speech/recognizer.ts';
import { findBestIndex } from '../../../engines/speech/scores.ts';
import { createSpeechEngine } from '../../../engines/speech/speech-engine.ts';
import { createSpeechServer } from '../../../engines/speech/speech-server.ts';
import type {
  EncodedSpeech,
  DecoderSession,
  DecoderStep,
  WhisperModel,
} from '../../../engines/speech/whisper-model.ts';
import type { SpeechEngine } from '../../../engines/speech-engine.ts';

/**
 * Creates the engine with its client, socket, server and queue, but in this process, and with an encoder that caches the
 * last speech. Repeated recognitions of one speech with other vocabularies then cost only the decoder.
 */
export async function createCachingSpeechEngine(whisper: WhisperModel): Promise<SpeechEngine> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-bench-'));
  const socket = join(folder, 'speech');
  const recognizer = createRecognizer(cacheLastEncoding(whisper), { beamWidth: BEAM_WIDTH_DEFAULT });
  const deps = { recognizer, voice: energyDetector, token: undefined, queueLengthMax: 4, queueWaitMsMax: 600_000 };
  const server = createServer(createSpeechServer(deps));
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  return createSpeechEngine({
    process: {
      waitUntilReady: async () => ({ socket, model: recognizer.model }),
      confirmExit: async () => false,
      state: 'ready',
      async stop() {
        server.close();
        server.closeAllConnections();
        rmSync(folder, { recursive: true });
      },
    },
  });
}

function cacheLastEncoding(whisper: WhisperModel): WhisperModel {
  let last: { readonly samples: Float32Array; readonly speech: EncodedSpeech } | undefined;
  return {
    ...whisper,
    async encode(samples) {
      if (!last || Buffer.compare(toBytes(last.samples), toBytes(samples)) !== 0)
        last = { samples, speech: cacheDecoderSteps(await whisper.encode(samples), whisper.tokens.startOfPrevious) };
      return last.speech;
    },
  };
}

const toBytes = ({ buffer, byteOffset, byteLength }: Float32Array): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);

/** The result of decoding a token sequence, and the session after it. */
interface CachedStep {
  readonly step: DecoderStep;
  readonly reading: DecoderSession;
  readonly next: Map<string, Promise<CachedStep>>;
}

/** Caches each decoder step without a prompt, because such steps do not depend on the vocabulary. */
function cacheDecoderSteps(speech: EncodedSpeech, startOfPrevious: number): EncodedSpeech {
  const firstSteps = new Map<string, Promise<CachedStep>>();
  const decodeStep = async (from: DecoderSession, tokens: readonly number[]): Promise<CachedStep> => {
    const reading = from.fork();
    const step = await reading.step(tokens);
    return { step, reading, next: new Map() };
  };
  const createCachedSession = (at: {
    readonly reading: DecoderSession;
    readonly next: CachedStep['next'];
  }): DecoderSession => {
    let position = at;
    const session: DecoderSession = {
      async step(tokens) {
        const key = tokens.join();
        let cached = position.next.get(key);
        if (!cached) {
          cached = decodeStep(position.reading, tokens);
          if (tokens[0] !== startOfPrevious) position.next.set(key, cached);
        }
        const after = await cached;
        position = after;
        return { ...after.step, scores: after.step.scores.slice() };
      },
      fork: () => createCachedSession(position),
      createBatch: () => createSequentialBatch(session),
    };
    return session;
  };
  return { createSession: () => createCachedSession({ reading: speech.createSession(), next: firstSteps }) };
}

/** Same limit as in the engine. */
const BARE_TOKENS_MAX = 224;

/** Decodes with the weights alone, without Parley's engine: encodes once, then takes the likeliest tokens. */
export async function transcribeGreedily(whisper: WhisperModel, samples: Float32Array): Promise<string> {
  const { tokens } = whisper;
  const speech = await whisper.encode(samples);
  const language = tokens.languages.get('en') ?? 0;
  const reading = speech.createSession();
  const textTokens: number[] = [];
  let next: readonly number[] = [tokens.startOfTranscript, language, tokens.transcribe, tokens.noTimestamps];
  while (textTokens.length < BARE_TOKENS_MAX) {
    const { scores } = await reading.step(next);
    for (const token of [...tokens.suppressed, ...(textTokens.length === 0 ? tokens.suppressedAtStart : [])])
      scores[token] = -Infinity;
    const best = findBestIndex(scores.subarray(0, tokens.endOfText + 1));
    if (best === tokens.endOfText) break;
    textTokens.push(best);
    next = [best];
  }
  return tokens.decode(textTokens).trim();
}
