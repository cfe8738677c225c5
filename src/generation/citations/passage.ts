import { CITATION_QUOTE_CHARS_MAX, CITATION_SOURCE_CHARS_MAX } from '../limits.ts';
import { readClaims, isUnspaced, readVocabulary, type Claims } from './claims.ts';

/** How well a passage supports a sentence, judged by words, names and numbers. */
export interface PassageMatch {
  /** The passage has every number and name of the sentence, and most of its words. */
  readonly isSupported: boolean;
  /** Share of the sentence's content words that the passage has, 0 to 1; 0 for a sentence without any. */
  readonly wordShare: number;
}

/** A text that sentences are compared with; it is analyzed once. */
export interface Passage {
  compareSentence(sentence: string): PassageMatch;
  /** Whether the passage supports the sentence so clearly that it may be cited although the model did not cite it. */
  clearlySupports(sentence: string): boolean;
  /** Returns the most similar sentence of the passage, cut to CITATION_QUOTE_CHARS_MAX. */
  findNearestSentence(sentence: string): string;
}

/** Share of a sentence's words that its source must have. Parley's threshold. */
const SHARE_MIN = 0.6;

/** Thresholds for a sentence without a mark: shares of the passage and its nearest sentence; words and numbers. */
const CLEAR_SHARE_MIN = 0.8;
const CLEAR_SENTENCE_SHARE_MIN = 0.6;
const CLEAR_WORDS_MIN = 4;
/** Pairs of characters instead of words for scripts without spaces; several pairs make a word. */
const CLEAR_PAIRS_MIN = 6;

/**
 * Creates a passage from the first CITATION_SOURCE_CHARS_MAX characters of a text.
 *
 * @param title Its words support sentences too, but it is never quoted.
 */
export function createPassage(text: string, title = ''): Passage {
  const citedText = text.slice(0, CITATION_SOURCE_CHARS_MAX);
  let cachedClaims: Claims | undefined;
  let cachedSentences: readonly PassageSentence[] | undefined;
  const claims = (): Claims => (cachedClaims ??= readVocabulary(`${title}\n${citedText}`));
  const sentences = (): readonly PassageSentence[] => (cachedSentences ??= splitSentences(citedText, title));

  const compareSentence = (sentence: string): PassageMatch => compareClaims(readClaims(sentence), claims());
  const findNearest = (
    sentenceClaims: Claims,
  ): { readonly part: PassageSentence | undefined; readonly share: number } => {
    let best: PassageSentence | undefined;
    let most = 0;
    for (const part of sentences()) {
      const common = weighShared(sentenceClaims, part.claims);
      if (common > most) [best, most] = [part, common];
    }
    return { part: best, share: most / Math.max(1, weighShared(sentenceClaims, sentenceClaims)) };
  };

  return {
    compareSentence,
    clearlySupports(sentence) {
      const sentenceClaims = readClaims(sentence);
      const wordsMin = isUnspaced(sentence) ? CLEAR_PAIRS_MIN : CLEAR_WORDS_MIN;
      if (sentenceClaims.words.size + sentenceClaims.numbers.size < wordsMin) return false;
      const { isSupported, wordShare } = compareClaims(sentenceClaims, claims());
      return (
        isSupported && wordShare >= CLEAR_SHARE_MIN && findNearest(sentenceClaims).share >= CLEAR_SENTENCE_SHARE_MIN
      );
    },
    findNearestSentence(sentence) {
      const { part } = findNearest(readClaims(sentence));
      return (part?.text ?? citedText.trim()).slice(0, CITATION_QUOTE_CHARS_MAX);
    },
  };
}

interface PassageSentence {
  readonly text: string;
  readonly claims: Claims;
}

function compareClaims(sentenceClaims: Claims, vocabulary: Claims): PassageMatch {
  const found = countShared(sentenceClaims.words, vocabulary.words);
  const share = sentenceClaims.words.size === 0 ? 0 : found / sentenceClaims.words.size;
  const isWhole =
    countShared(sentenceClaims.numbers, vocabulary.numbers) === sentenceClaims.numbers.size &&
    countShared(sentenceClaims.names, vocabulary.words) === sentenceClaims.names.size;
  // A number alone does not support a sentence: the share of common words counts too.
  return { isSupported: isWhole && share >= SHARE_MIN, wordShare: share };
}

const countShared = (sought: ReadonlySet<string>, available: ReadonlySet<string>): number =>
  sought.intersection(available).size;

/** Weighs common words, names and numbers; names and numbers distinguish sentences better than other words. */
const weighShared = (sought: Claims, available: Claims): number =>
  countShared(sought.words, available.words) +
  countShared(sought.names, available.words) +
  2 * countShared(sought.numbers, available.numbers);

/** Splits a text into sentences. The title's words count for each: a text often refers to its topic only by `it`. */
function splitSentences(text: string, title: string): readonly PassageSentence[] {
  const segmenter = new Intl.Segmenter('und', { granularity: 'sentence' });
  const parts: PassageSentence[] = [];
  for (const line of text.split('\n'))
    for (const { segment } of segmenter.segment(line)) {
      const sentence = segment.trim();
      if (sentence !== '') parts.push({ text: sentence, claims: readVocabulary(`${title}\n${sentence}`) });
    }
  return parts;
}
