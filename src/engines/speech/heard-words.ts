import { SPEECH_SAMPLE_RATE } from '../../core/speech.ts';
import type { HeardWord } from '../../core/speech.ts';
import type { Decoded } from './decode.ts';
import { loudFrames } from './loud-frames.ts';
import { spelledWords } from './spelled-words.ts';
import { tokenTimes } from './token-times.ts';
import { FRAMES } from './whisper-model.ts';
import type { WhisperTokens } from './whisper-tokens.ts';

/** Samples of a frame that the decoder looks at. */
const FRAME_SAMPLES = 320;
const FRAME_MS = (FRAME_SAMPLES / SPEECH_SAMPLE_RATE) * 1_000;

/** From whisper's reference: a word before a pause lasts at most twice as long as most words do, which is at most this. */
const USUAL_FRAMES_MAX = 700 / FRAME_MS;

const ENDS_SENTENCE = /[.!?。！？]/;

interface Span {
  readonly begin: number;
  readonly end: number;
}

/** The words of a text that was decoded with `keepsAttention`, and when they were said. */
export function heardWords(
  { tokens, attention }: Pick<Decoded, 'tokens' | 'attention'>,
  { decode }: Pick<WhisperTokens, 'decode'>,
  samples: Float32Array,
): readonly HeardWord[] {
  const frames = Math.min(FRAMES, Math.max(1, Math.ceil(samples.length / FRAME_SAMPLES)));
  const loud = loudFrames(samples, { frames, frameSamples: FRAME_SAMPLES });
  const begins = tokenTimes(attention, frames);
  const words = spelledWords(tokens, decode);
  const spans = words.map(({ from, to }) => ({ begin: begins[from] ?? frames, end: begins[to] ?? frames }));
  const lastsMax = 2 * Math.min(USUAL_FRAMES_MAX, middleOf(spans.map(({ begin, end }) => end - begin)));
  return words.map(({ text, punctuation }, at) => {
    const isLast = at === words.length - 1 || ENDS_SENTENCE.test(punctuation);
    const span = withoutSilence(spans[at] ?? { begin: frames, end: frames }, loud);
    const end = isLast ? Math.min(span.end, span.begin + Math.max(1, lastsMax)) : span.end;
    return { text, punctuation, beginMs: Math.round(span.begin * FRAME_MS), endMs: Math.round(end * FRAME_MS) };
  });
}

/** A word begins and ends where something is heard, if anything is: the pauses around it are told to it otherwise. */
function withoutSilence({ begin, end }: Span, loud: readonly boolean[]): Span {
  const first = loud.indexOf(true, begin);
  if (first < 0 || first >= end) return { begin, end };
  return { begin: first, end: loud.lastIndexOf(true, end - 1) + 1 };
}

function middleOf(values: readonly number[]): number {
  const sorted = values.filter((value) => value > 0).toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}
