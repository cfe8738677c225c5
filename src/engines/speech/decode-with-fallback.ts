import type { Hotword } from '../../core/speech.ts';
import { CLOSEST_HOTWORDS_MAX } from './hotword-bias-constants.ts';
import type { DecodingResult } from './decode-text.ts';
import { findSimilarHotwords } from './find-similar-hotwords.ts';
import { computeCompressionRatio, isHotwordRecital } from './repetition.ts';

/** Temperatures of the attempts after the greedy one, as in Whisper's reference implementation. */
const TEMPERATURES = [0.2, 0.4, 0.6, 0.8, 1];

/** A text that compresses better repeats itself (Whisper's reference implementation). */
const COMPRESSION_RATIO_MAX = 2.4;

/** A result with a lower mean log probability is decoded again (Whisper's reference implementation). */
const LOG_PROBABILITY_MIN = -1;

/**
 * A higher no-speech probability together with a log probability below `LOG_PROBABILITY_MIN` means that nobody spoke
 * (Whisper's reference implementation).
 */
const NO_SPEECH_MIN = 0.6;

/**
 * Above this no-speech probability, a result needs at least `SURE_LOG_PROBABILITY_MIN`: Whisper recognizes "you" in
 * faint noise. Both values are Parley's.
 */
const NO_SPEECH_CERTAIN_MIN = 0.9;
const SURE_LOG_PROBABILITY_MIN = -0.5;

/** Settings of one decoding attempt. */
export interface DecodingAttempt {
  /** Whether the prompt contains the request's context. */
  readonly hasContext: boolean;
  /** Hotwords to boost. Empty: no bias. */
  readonly hotwords: readonly Hotword[];
  readonly temperature: number;
  /** A text to compute the probability and attention of, instead of searching for one. */
  readonly knownText?: readonly number[];
}

interface FallbackOptions {
  /** Hotwords of the audio's language. */
  readonly hotwords: readonly Hotword[];
  /** Probability, from 0 to 1, that the audio contains no speech. */
  readonly noSpeech: number;
  readonly getText: (decoded: DecodingResult) => string;
  /** Returns the tokens of the plain text with the hotwords of the biased one. */
  readonly mergeHotwords: (
    plain: DecodingResult,
    biased: DecodingResult,
    hotwords: readonly Hotword[],
  ) => readonly number[];
}

interface TranscriptCandidate {
  readonly decoded: DecodingResult;
  /** Empty if nobody spoke. */
  readonly text: string;
  readonly isBiasDropped: boolean;
}

/**
 * Decodes a speech segment and repeats attempts that fail. Decodes without hotwords first, at rising temperatures while
 * the result repeats itself or is unlikely. Then decodes with the hotwords that sound like a part of the result, unless
 * the result contains all of them. If the model recites the hotwords, only the closest ones are tried again. A biased
 * result is used only if it contains more hotwords and is at least as likely as the unbiased one. Only its hotwords are
 * taken then: the rest of the text stays the unbiased one.
 */
export async function decodeWithFallback(
  { hotwords, noSpeech, getText, mergeHotwords }: FallbackOptions,
  runAttempt: (attempt: DecodingAttempt) => Promise<DecodingResult>,
): Promise<TranscriptCandidate> {
  const isRepetitive = (decoded: DecodingResult): boolean =>
    decoded.isLooping || computeCompressionRatio(getText(decoded)) > COMPRESSION_RATIO_MAX;
  const isUnlikely = ({ logProbability }: DecodingResult): boolean => logProbability < LOG_PROBABILITY_MIN;
  const toCandidate = (decoded: DecodingResult, isBiasDropped: boolean): TranscriptCandidate => {
    const isSilence =
      (noSpeech > NO_SPEECH_MIN && isUnlikely(decoded)) ||
      (noSpeech > NO_SPEECH_CERTAIN_MIN && decoded.logProbability < SURE_LOG_PROBABILITY_MIN);
    return { decoded, text: isSilence ? '' : getText(decoded), isBiasDropped };
  };

  const decodePlainly = async (): Promise<DecodingResult> => {
    const attempts = [await runAttempt({ hasContext: true, hotwords: [], temperature: 0 })];
    for (const temperature of TEMPERATURES) {
      const last = attempts.at(-1);
      if (last && !isRepetitive(last) && (!isUnlikely(last) || noSpeech > NO_SPEECH_MIN)) return last;
      attempts.push(await runAttempt({ hasContext: false, hotwords: [], temperature }));
    }
    const nonRepeating = attempts.filter((each) => !isRepetitive(each));
    return (nonRepeating.length > 0 ? nonRepeating : attempts).reduce((a, b) =>
      b.logProbability > a.logProbability ? b : a,
    );
  };

  const plain = await decodePlainly();
  const hasText = toCandidate(plain, false).text !== '';
  const similar = hasText ? findSimilarHotwords(getText(plain), hotwords) : [];
  let isBiasDropped = false;
  for (const candidates of [similar, similar.slice(0, CLOSEST_HOTWORDS_MAX)]) {
    const texts = candidates.map(({ text }) => text);
    if (texts.every((text) => countOccurrences(getText(plain), [text]) > 0)) break;
    const biased = await runAttempt({ hasContext: true, hotwords: candidates, temperature: 0 });
    const isPlausible = !isRepetitive(biased) && !isHotwordRecital(getText(biased), candidates);
    const isLikelyEnough = isRepetitive(plain) || biased.logProbability >= plain.logProbability;
    const findsMore = countOccurrences(getText(biased), texts) > countOccurrences(getText(plain), texts);
    if (isPlausible && isLikelyEnough && findsMore) {
      const knownText = isRepetitive(plain) ? biased.tokens : mergeHotwords(plain, biased, candidates);
      const isMerged =
        knownText.length !== biased.tokens.length || knownText.some((each, at) => each !== biased.tokens[at]);
      const attempt = { hasContext: true, hotwords: candidates, temperature: 0, knownText };
      const decoded = isMerged ? await runAttempt(attempt) : biased;
      return { decoded, text: getText(decoded), isBiasDropped: false };
    }
    isBiasDropped ||= !isPlausible || !isLikelyEnough;
    if (isPlausible) break;
  }
  return toCandidate(plain, isBiasDropped);
}

/** Counts how often the hotwords occur in a text, ignoring case. */
function countOccurrences(text: string, hotwords: readonly string[]): number {
  const lowered = text.toLowerCase();
  return hotwords.reduce((sum, hotword) => sum + lowered.split(hotword.toLowerCase()).length - 1, 0);
}
