import { CITATION_QUOTE_CHARS_MAX, CITATION_SOURCE_CHARS_MAX } from '../../core/limits.ts';
import { claimsOf, isUnspaced, vocabularyOf } from './claims.ts';
import type { Claims } from './claims.ts';

/** Whether a passage says what a sentence says, as far as words can tell. */
export interface Verdict {
  /** Every number and name of the sentence is in the passage, and most of its words. */
  readonly holds: boolean;
  /** Of the sentence's words that carry meaning, 0 to 1; 0 where it has none. */
  readonly share: number;
}

/** A text that sentences are compared with; it is taken apart once. */
export interface Passage {
  check(sentence: string): Verdict;
  /** Stricter: the sentence may be ascribed to this passage though nobody has said so. */
  bears(sentence: string): boolean;
  /** The sentence of the passage that comes nearest, cut where it is long. */
  nearest(sentence: string): string;
}

/** Ours: the part of a sentence's words that its source must have. */
const SHARE_MIN = 0.6;

/** Ours, for a sentence that names no source: the same, of the passage and of its nearest sentence; and words and numbers that it must have. */
const BORNE_SHARE_MIN = 0.8;
const BORNE_NEAR_SHARE_MIN = 0.6;
const BORNE_WORDS_MIN = 4;
/** Pairs of characters; more of them make a word. */
const BORNE_PAIRS_MIN = 6;

/**
 * Beyond CITATION_SOURCE_CHARS_MAX a text is not looked at.
 *
 * @param title What it is about: its words count, and it is never cited.
 */
export function createPassage(text: string, title = ''): Passage {
  const own = text.slice(0, CITATION_SOURCE_CHARS_MAX);
  let whole: Claims | undefined;
  let parts: readonly Part[] | undefined;
  const claims = (): Claims => (whole ??= vocabularyOf(`${title}\n${own}`));
  const sentences = (): readonly Part[] => (parts ??= partsOf(own, title));

  const check = (sentence: string): Verdict => compare(claimsOf(sentence), claims());
  const nearestTo = (asked: Claims): { readonly part: Part | undefined; readonly share: number } => {
    let best: Part | undefined;
    let most = 0;
    for (const part of sentences()) {
      const common = weight(asked, part.claims);
      if (common > most) [best, most] = [part, common];
    }
    return { part: best, share: most / Math.max(1, weight(asked, asked)) };
  };

  return {
    check,
    bears(sentence) {
      const asked = claimsOf(sentence);
      const wordsMin = isUnspaced(sentence) ? BORNE_PAIRS_MIN : BORNE_WORDS_MIN;
      if (asked.words.size + asked.numbers.size < wordsMin) return false;
      const { holds, share } = compare(asked, claims());
      return holds && share >= BORNE_SHARE_MIN && nearestTo(asked).share >= BORNE_NEAR_SHARE_MIN;
    },
    nearest(sentence) {
      const { part } = nearestTo(claimsOf(sentence));
      return (part?.text ?? own.trim()).slice(0, CITATION_QUOTE_CHARS_MAX);
    },
  };
}

interface Part {
  readonly text: string;
  readonly claims: Claims;
}

function compare(asked: Claims, known: Claims): Verdict {
  const found = count(asked.words, known.words);
  const share = asked.words.size === 0 ? 0 : found / asked.words.size;
  const isWhole =
    count(asked.numbers, known.numbers) === asked.numbers.size && count(asked.names, known.words) === asked.names.size;
  // A number alone says nothing that could be looked up.
  return { holds: isWhole && share >= SHARE_MIN, share };
}

const count = (asked: ReadonlySet<string>, known: ReadonlySet<string>): number => asked.intersection(known).size;

/** Numbers and names tell sentences apart better than words do. */
const weight = (asked: Claims, known: Claims): number =>
  count(asked.words, known.words) + count(asked.names, known.words) + 2 * count(asked.numbers, known.numbers);

/** What a text is about stands in its title, and most of its sentences only say `it`. */
function partsOf(text: string, title: string): readonly Part[] {
  const segmenter = new Intl.Segmenter('und', { granularity: 'sentence' });
  const parts: Part[] = [];
  for (const line of text.split('\n'))
    for (const { segment } of segmenter.segment(line)) {
      const sentence = segment.trim();
      if (sentence !== '') parts.push({ text: sentence, claims: vocabularyOf(`${title}\n${sentence}`) });
    }
  return parts;
}
