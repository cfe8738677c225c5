import { SPEECH_SAMPLE_RATE, type RecognizedWord } from '../../core/speech.ts';
import type { DecodingResult } from './decode-text.ts';
import { findLoudFrames } from './find-loud-frames.ts';
import { splitWords } from './split-words.ts';
import { computeTokenTimes } from './compute-token-times.ts';
import { ENCODER_FRAMES } from './whisper-model.ts';
import type { WhisperTokens } from './whisper-tokens.ts';

/** Samples per encoder frame. */
const FRAME_SAMPLES = 320;
const FRAME_MS = (FRAME_SAMPLES / SPEECH_SAMPLE_RATE) * 1_000;

/**
 * Upper limit of the median word length, in frames. A word before a pause lasts at most twice the median (Whisper's
 * reference).
 */
const MEDIAN_FRAMES_MAX = 700 / FRAME_MS;

const ENDS_SENTENCE = /[.!?。！？]/;

interface Span {
  readonly start: number;
  readonly end: number;
}

/** Splits a text that was decoded with `includeAttention` into words, with the start and end time of each. */
export function computeWordTimes(
  { tokens, attention }: Pick<DecodingResult, 'tokens' | 'attention'>,
  { decode }: Pick<WhisperTokens, 'decode'>,
  samples: Float32Array,
): readonly RecognizedWord[] {
  const frames = Math.min(ENCODER_FRAMES, Math.max(1, Math.ceil(samples.length / FRAME_SAMPLES)));
  const isLoud = findLoudFrames(samples, { frames, frameSamples: FRAME_SAMPLES });
  const tokenStarts = computeTokenTimes(attention, frames);
  const words = splitWords(tokens, decode);
  const spans = words.map(({ from, to }) => ({ start: tokenStarts[from] ?? frames, end: tokenStarts[to] ?? frames }));
  const wordFramesMax = 2 * Math.min(MEDIAN_FRAMES_MAX, computeMedian(spans.map(({ start, end }) => end - start)));
  return words.map(({ text, punctuation }, at) => {
    const isLast = at === words.length - 1 || ENDS_SENTENCE.test(punctuation);
    const span = trimSilence(spans[at] ?? { start: frames, end: frames }, isLoud);
    const end = isLast ? Math.min(span.end, span.start + Math.max(1, wordFramesMax)) : span.end;
    return { text, punctuation, beginMs: Math.round(span.start * FRAME_MS), endMs: Math.round(end * FRAME_MS) };
  });
}

/**
 * Moves the start and end of a word to its first and last loud frame, if any: attention also covers the pauses around
 * it.
 */
function trimSilence({ start, end }: Span, isLoud: readonly boolean[]): Span {
  const first = isLoud.indexOf(true, start);
  if (first < 0 || first >= end) return { start, end };
  return { start: first, end: isLoud.lastIndexOf(true, end - 1) + 1 };
}

function computeMedian(values: readonly number[]): number {
  const sorted = values.filter((value) => value > 0).toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}
