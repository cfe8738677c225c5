import type { Hotword } from '../../core/speech.ts';
import { NEAREST } from './bias-scale.ts';
import type { Decoded } from './decode.ts';
import { nearHotwords } from './near-hotwords.ts';
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
  /** Whether the request's context stands before it. */
  readonly hasContext: boolean;
  /** Those that are looked for; empty: a plain reading. */
  readonly hotwords: readonly Hotword[];
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
 * Reads a speech as often as it takes: plainly, with more and more chance where that goes wrong or is unsure of itself; then
 * with the hotwords that sound like something in it, where there are any that were not heard already; with the nearest of
 * them alone, where it went through the list instead. What was read with help counts where it finds a hotword and is as sure of
 * itself as the plain reading.
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

  const readPlainly = async (): Promise<Decoded> => {
    const tries = [await attempt({ hasContext: true, hotwords: [], temperature: 0 })];
    for (const temperature of TEMPERATURES) {
      const last = tries.at(-1);
      if (last && !repeats(last) && (!isUnsure(last) || noSpeech > NO_SPEECH_MIN)) return last;
      tries.push(await attempt({ hasContext: false, hotwords: [], temperature }));
    }
    const whole = tries.filter((each) => !repeats(each));
    return (whole.length > 0 ? whole : tries).reduce((a, b) => (b.logProbability > a.logProbability ? b : a));
  };

  const plain = await readPlainly();
  const isAnything = told(plain, false).text !== '';
  const near = isAnything ? nearHotwords(textOf(plain), hotwords) : [];
  let isBiasDropped = false;
  for (const wanted of [near, near.slice(0, NEAREST)]) {
    const texts = wanted.map(({ text }) => text);
    if (texts.every((text) => timesHeard(textOf(plain), [text]) > 0)) break;
    const helped = await attempt({ hasContext: true, hotwords: wanted, temperature: 0 });
    const isWhole = !repeats(helped) && !recitesHotwords(textOf(helped), wanted);
    const isSureEnough = repeats(plain) || helped.logProbability >= plain.logProbability;
    const finds = timesHeard(textOf(helped), texts) > timesHeard(textOf(plain), texts);
    if (isWhole && isSureEnough && finds) return told(helped, false);
    isBiasDropped ||= !isWhole || !isSureEnough;
    if (isWhole) break;
  }
  return told(plain, isBiasDropped);
}

/** How often the hotwords stand in a text. */
function timesHeard(text: string, hotwords: readonly string[]): number {
  const lowered = text.toLowerCase();
  return hotwords.reduce((sum, hotword) => sum + lowered.split(hotword.toLowerCase()).length - 1, 0);
}
