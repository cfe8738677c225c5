import type { Hotword } from '../../core/speech.ts';
import { BIASED_LOG_PROBABILITY_LESS_MAX } from './bias-scale.ts';
import type { Decoded } from './decode.ts';
import { compressionRatio, recitesHotwords } from './repetition.ts';

/** From whisper's reference: tries after the likeliest reading, each with more chance in it. */
const TEMPERATURES = [0.2, 0.4, 0.6, 0.8, 1];

/** From whisper's reference: a text that packs better repeats itself. */
const COMPRESSION_RATIO_MAX = 2.4;

/** From whisper's reference: a reading that is less sure of itself is tried again. */
const LOG_PROBABILITY_MIN = -1;

/** From whisper's reference: with this and a reading that is not sure of itself, nobody spoke. */
const NO_SPEECH_MIN = 0.6;

/** Ours: where the model is as good as certain that nobody spoke, a reading has to be surer: it hears "you" in faint noise. */
const NO_SPEECH_CERTAIN_MIN = 0.9;
const SURE_LOG_PROBABILITY_MIN = -0.5;

/** How a speech is read once. */
export interface Attempt {
  /** With context and glossary: those of the request, or none. */
  readonly before: 'context' | 'glossary' | 'nothing';
  readonly isBiased: boolean;
  readonly temperature: number;
}

interface Subject {
  /** Of the speech's language. */
  readonly hotwords: readonly Hotword[];
  /** From 0 to 1. */
  readonly noSpeech: number;
  readonly textOf: (decoded: Decoded) => string;
}

interface Reading {
  readonly decoded: Decoded;
  /** Empty where nobody spoke. */
  readonly text: string;
  readonly isBiasDropped: boolean;
}

/**
 * Reads a speech as often as it takes: with the hotwords' help, where there are any; plainly, where that has gone wrong or
 * is unsure of itself; then with more and more chance. Reading plainly each time, to compare, costs a fifth more and gained
 * nothing (docs/decisions/0026).
 */
export async function bestReading(
  { hotwords, noSpeech, textOf }: Subject,
  attempt: (how: Attempt) => Promise<Decoded>,
): Promise<Reading> {
  const repeats = (decoded: Decoded): boolean =>
    decoded.isLooping || compressionRatio(textOf(decoded)) > COMPRESSION_RATIO_MAX;
  const isUnsure = ({ logProbability }: Decoded): boolean => logProbability < LOG_PROBABILITY_MIN;
  const told = (decoded: Decoded, isBiasDropped: boolean): Reading => {
    const isSilence =
      (noSpeech > NO_SPEECH_MIN && isUnsure(decoded)) ||
      (noSpeech > NO_SPEECH_CERTAIN_MIN && decoded.logProbability < SURE_LOG_PROBABILITY_MIN);
    return { decoded, text: isSilence ? '' : textOf(decoded), isBiasDropped };
  };

  let biased: Decoded | undefined;
  if (hotwords.length > 0) {
    const helped = await attempt({ before: 'glossary', isBiased: true, temperature: 0 });
    if (!repeats(helped) && !recitesHotwords(textOf(helped), hotwords)) biased = helped;
    if (biased && !isUnsure(biased)) return told(biased, false);
  }
  const isBiasDropped = hotwords.length > 0;
  const plain = await attempt({ before: 'context', isBiased: false, temperature: 0 });
  if (biased && (repeats(plain) || biased.logProbability >= plain.logProbability - BIASED_LOG_PROBABILITY_LESS_MAX))
    return told(biased, false);

  const tries = [plain];
  for (const temperature of TEMPERATURES) {
    const last = tries.at(-1) ?? plain;
    if (!repeats(last) && (!isUnsure(last) || noSpeech > NO_SPEECH_MIN)) return told(last, isBiasDropped);
    tries.push(await attempt({ before: 'nothing', isBiased: false, temperature }));
  }
  const whole = tries.filter((each) => !repeats(each));
  const best = (whole.length > 0 ? whole : tries).reduce((a, b) => (b.logProbability > a.logProbability ? b : a));
  return told(best, isBiasDropped);
}
