import type { RecognizedWord } from '../../../core/speech.ts';
import type { Recognition, RecognitionRequest, SpeechEngine } from '../../../engines/speech-engine.ts';
import { createSegmentPacker } from './segment-packer.ts';
import { createSampleWindow } from './sample-window.ts';
import { SEGMENT_MARGIN_MS, VOICE_MS_MIN, samplesToMs, msToSamples } from './speech-time.ts';
import { createVoiceFrameDetector } from './voice-frame-detector.ts';
import type { SpeechSegment } from './segment-detector.ts';
import { createSegmentDetector } from './segment-detector.ts';

export type RecognitionOptions = Pick<
  RecognitionRequest,
  'id' | 'owner' | 'languages' | 'task' | 'hotwords' | 'includeWords' | 'context'
>;

/** Transcript of one engine call. Times in ms from the start of the audio. */
export interface TranscribedWindow {
  readonly beginMs: number;
  readonly endMs: number;
  /** Sample after the window. A resumed transcription continues there. */
  readonly endSample: number;
  readonly text: string;
  readonly language: string;
  readonly words: readonly RecognizedWord[];
  readonly isBiasDropped: boolean;
  /** Values of the recognition, unchanged. */
  readonly logProbability: number;
  readonly noSpeech: number;
}

/** In files, segments are cut at short pauses, and combined to windows across longer ones; in ms. */
const CUT_PAUSE_MS = 300;
const JOINED_GAP_MS_MAX = 2_000;

/** Length of the preceding transcript that the model gets as context. */
const CONTEXT_CHARS = 200;

/** A recognition with a higher no-speech and a lower log probability is discarded: the model made the text up. */
const NO_SPEECH_MIN = 0.6;
const LOG_PROBABILITY_MIN = -1;

/** Returns whether a recognition contains speech. */
export const hasSpeech = ({ text, noSpeech, logProbability }: Recognition): boolean =>
  text.trim() !== '' && !(noSpeech > NO_SPEECH_MIN && logProbability < LOG_PROBABILITY_MIN);

export const shiftWords = (words: readonly RecognizedWord[], ms: number): readonly RecognizedWord[] =>
  words.map((word) => ({ ...word, beginMs: word.beginMs + ms, endMs: word.endMs + ms }));

/**
 * Transcribes an audio of any length, window by window. Holds only one window and unread blocks in memory.
 * @param audio Mono samples of `SPEECH_SAMPLE_RATE`, in blocks of any size.
 * @param firstSample Start of the transcription: `endSample` of the last window of an earlier attempt.
 */
export async function* transcribe(
  audio: AsyncIterable<Float32Array>,
  options: RecognitionOptions,
  engine: SpeechEngine,
  signal: AbortSignal,
  firstSample = 0,
): AsyncGenerator<TranscribedWindow> {
  const { samplesMax } = await engine.loadModel();
  const voice = createVoiceFrameDetector(engine, signal);
  const segments = createSegmentDetector({
    pauseSamples: msToSamples(CUT_PAUSE_MS),
    samplesMax,
    marginSamples: msToSamples(SEGMENT_MARGIN_MS),
    voiceSamplesMin: msToSamples(VOICE_MS_MIN),
  });
  const packer = createSegmentPacker({ samplesMax, gapSamplesMax: msToSamples(JOINED_GAP_MS_MAX) });
  const samples = createSampleWindow(firstSample);
  let previousText = '';

  const recognizeWindows = async function* (windows: readonly SpeechSegment[]): AsyncGenerator<TranscribedWindow> {
    for (const segment of windows) {
      const [start, end] = [firstSample + segment.start, firstSample + segment.end];
      const context = [options.context, previousText.slice(-CONTEXT_CHARS)].filter(Boolean).join(' ');
      const recognition = await engine.recognize(
        { ...options, samples: samples.slice(start, end), ...(context ? { context } : {}) },
        signal,
      );
      if (!hasSpeech(recognition)) {
        previousText = '';
        continue;
      }
      // An unlikely text would mislead the model, so do not use it as context.
      previousText = recognition.logProbability < LOG_PROBABILITY_MIN ? '' : recognition.text;
      const { tokens: _, ...recognized } = recognition;
      const beginMs = samplesToMs(start);
      yield {
        ...recognized,
        beginMs,
        endMs: samplesToMs(end),
        endSample: end,
        words: shiftWords(recognition.words, beginMs),
      };
    }
  };

  for await (const block of skipSamples(audio, firstSample)) {
    samples.append(block);
    for (const probabilities of await voice.push(block)) {
      yield* recognizeWindows(segments.push(probabilities).flatMap((stretch) => packer.push(stretch)));
    }
    samples.discardBefore(firstSample + Math.min(packer.openStart ?? segments.settledSamples, segments.settledSamples));
  }
  for (const probabilities of await voice.finish()) {
    yield* recognizeWindows(segments.push(probabilities).flatMap((stretch) => packer.push(stretch)));
  }
  yield* recognizeWindows(segments.finish().flatMap((stretch) => packer.push(stretch)));
  yield* recognizeWindows(packer.finish());
}

/** Skips the audio before a sample. */
async function* skipSamples(audio: AsyncIterable<Float32Array>, firstSample: number): AsyncGenerator<Float32Array> {
  let at = 0;
  for await (const block of audio) {
    const rest = block.subarray(Math.max(0, firstSample - at));
    at += block.length;
    if (rest.length > 0) yield rest;
  }
}
