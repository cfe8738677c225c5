import type { HeardWord } from '../core/speech.ts';
import type { Recognition, RecognitionRequest, SpeechEngine } from '../engines/speech-engine.ts';
import { createStretchPacking } from './pack-stretches.ts';
import { createSampleWindow } from './sample-window.ts';
import { MARGIN_MS, SHORTEST_MS, msOf, samplesOf } from './speech-time.ts';
import { createVoiceFrames } from './voice-frames.ts';
import type { Stretch } from './voice-stretches.ts';
import { createVoiceStretches } from './voice-stretches.ts';

export type TranscriptionWish = Pick<
  RecognitionRequest,
  'id' | 'owner' | 'languages' | 'hotwords' | 'wantsWords' | 'context'
>;

/** What was heard in one call of the engine. Times in ms, from the beginning of the audio. */
export interface HeardWindow {
  readonly beginMs: number;
  readonly endMs: number;
  /** Where the next one may begin, in samples: a transcription that was interrupted goes on there. */
  readonly end: number;
  readonly text: string;
  readonly language: string;
  readonly words: readonly HeardWord[];
  readonly isBiasDropped: boolean;
  /** As the engine told them. */
  readonly logProbability: number;
  readonly noSpeech: number;
}

/** Of a file: short pauses are cuts, which are put together to what an engine takes at once. */
const PAUSE_MS = 300;
const GAP_MS = 2_000;

/** Characters of what was said before that the model is told. */
const CONTEXT_CHARACTERS = 200;

/** A stretch that most likely nobody spoke in and that the model itself does not believe: what it read is made up. */
const NO_SPEECH_MIN = 0.6;
const LOG_PROBABILITY_MIN = -1;

/** Whether there is something in it that was said. */
export const isSaid = ({ text, noSpeech, logProbability }: Recognition): boolean =>
  text.trim() !== '' && !(noSpeech > NO_SPEECH_MIN && logProbability < LOG_PROBABILITY_MIN);

export const movedBy = (words: readonly HeardWord[], ms: number): readonly HeardWord[] =>
  words.map((word) => ({ ...word, beginMs: word.beginMs + ms, endMs: word.endMs + ms }));

/**
 * Hears an audio of any length, window by window; holds no more of it than a window and what the reader was given.
 * @param audio Mono samples of `SPEECH_SAMPLE_RATE`, in blocks of any size.
 * @param from Sample before which nothing is heard any more: `end` of a window of an earlier try.
 */
export async function* transcribe(
  audio: AsyncIterable<Float32Array>,
  wish: TranscriptionWish,
  engine: SpeechEngine,
  signal: AbortSignal,
  from = 0,
): AsyncGenerator<HeardWindow> {
  const { samplesMax } = await engine.model();
  const voice = createVoiceFrames(engine, signal);
  const stretches = createVoiceStretches({
    pause: samplesOf(PAUSE_MS),
    longest: samplesMax,
    margin: samplesOf(MARGIN_MS),
    shortest: samplesOf(SHORTEST_MS),
  });
  const packing = createStretchPacking({ longest: samplesMax, gap: samplesOf(GAP_MS) });
  const samples = createSampleWindow(from);
  let said = '';

  const heard = async function* (windows: readonly Stretch[]): AsyncGenerator<HeardWindow> {
    for (const stretch of windows) {
      const [begin, end] = [from + stretch.begin, from + stretch.end];
      const context = [wish.context, said.slice(-CONTEXT_CHARACTERS)].filter(Boolean).join(' ');
      const recognition = await engine.recognize(
        { ...wish, samples: samples.slice(begin, end), ...(context ? { context } : {}) },
        signal,
      );
      if (!isSaid(recognition)) {
        said = '';
        continue;
      }
      // What the model did not believe itself would mislead it further.
      said = recognition.logProbability < LOG_PROBABILITY_MIN ? '' : recognition.text;
      const { tokens: _, ...heardHere } = recognition;
      const beginMs = msOf(begin);
      yield { ...heardHere, beginMs, endMs: msOf(end), end, words: movedBy(recognition.words, beginMs) };
    }
  };

  for await (const block of after(audio, from)) {
    samples.append(block);
    for (const probabilities of await voice.push(block)) {
      yield* heard(stretches.push(probabilities).flatMap((stretch) => packing.push(stretch)));
    }
    samples.forget(from + Math.min(packing.openBegin ?? stretches.settled, stretches.settled));
  }
  for (const probabilities of await voice.finish()) {
    yield* heard(stretches.push(probabilities).flatMap((stretch) => packing.push(stretch)));
  }
  yield* heard(stretches.finish().flatMap((stretch) => packing.push(stretch)));
  yield* heard(packing.finish());
}

/** The audio from this sample on. */
async function* after(audio: AsyncIterable<Float32Array>, from: number): AsyncGenerator<Float32Array> {
  let at = 0;
  for await (const block of audio) {
    const rest = block.subarray(Math.max(0, from - at));
    at += block.length;
    if (rest.length > 0) yield rest;
  }
}
