import { readClaims } from '../../../generation/citations/claims.ts';

/** Set of sentences that finds near duplicates. */
export interface SentenceIndex {
  hasSimilar(sentence: string): boolean;
  add(sentence: string): void;
}

/**
 * Shares of common words above which two sentences are similar: of the shorter sentence's words, or of all words of
 * both.
 */
const CONTAINED_SHARE_MIN = 0.85;
const COMMON_SHARE_MIN = 0.7;

export function createSentenceIndex(sentences: Iterable<string> = []): SentenceIndex {
  const texts = new Set<string>();
  const contents: SentenceContent[] = [];
  /** Positions in `contents` by word. Only sentences with a common word are compared. */
  const positionsByWord = new Map<string, number[]>();

  const add = (sentence: string): void => {
    texts.add(normalizeSentence(sentence));
    const content = parseSentenceContent(sentence);
    for (const word of content.words) {
      const positions = positionsByWord.get(word);
      if (positions) positions.push(contents.length);
      else positionsByWord.set(word, [contents.length]);
    }
    contents.push(content);
  };
  for (const sentence of sentences) add(sentence);

  return {
    add,
    hasSimilar(sentence) {
      if (texts.has(normalizeSentence(sentence))) return true;
      const content = parseSentenceContent(sentence);
      const common = new Map<number, number>();
      for (const word of content.words)
        for (const at of positionsByWord.get(word) ?? []) common.set(at, (common.get(at) ?? 0) + 1);
      return common.entries().some(([at, count]) => {
        const other = contents[at];
        return other !== undefined && isSimilar(content, other, count);
      });
    },
  };
}

interface SentenceContent {
  readonly words: ReadonlySet<string>;
  /** Names and numbers. Two sentences that differ in them state different things. */
  readonly namesAndNumbers: ReadonlySet<string>;
}

function isSimilar(one: SentenceContent, other: SentenceContent, common: number): boolean {
  const [short, long] = one.words.size <= other.words.size ? [one, other] : [other, one];
  const all = one.words.size + other.words.size - common;
  const isContained = short.words.size >= CONTAINED_WORDS_MIN && common >= CONTAINED_SHARE_MIN * short.words.size;
  return (isContained || common >= COMMON_SHARE_MIN * all) && short.namesAndNumbers.isSubsetOf(long.words);
}

/** A shorter sentence may be contained in one that states something else. */
const CONTAINED_WORDS_MIN = 4;

/** Maps sentences that differ only in punctuation, spaces and case to the same key. */
export const normalizeSentence = (sentence: string): string =>
  sentence
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();

function parseSentenceContent(sentence: string): SentenceContent {
  const { words, names, numbers } = readClaims(sentence);
  return { words: words.union(numbers), namesAndNumbers: names.union(numbers) };
}
