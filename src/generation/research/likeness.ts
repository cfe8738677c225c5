import { claimsOf } from '../citations/claims.ts';

/** Sentences that were said; what says nearly the same is found among them. */
export interface SaidSentences {
  hasLike(sentence: string): boolean;
  add(sentence: string): void;
}

/** Ours: of the words of the shorter one of two sentences, how many the other one has, and of all words of both. */
const CONTAINED_SHARE = 0.85;
const COMMON_SHARE = 0.7;

export function createSaidSentences(sentences: Iterable<string> = []): SaidSentences {
  const texts = new Set<string>();
  const said: ReadonlySet<string>[] = [];
  /** Which of them have a word: only those are compared. */
  const having = new Map<string, number[]>();

  const add = (sentence: string): void => {
    const words = wordsOf(sentence);
    texts.add(keyOf(sentence));
    for (const word of words) having.set(word, [...(having.get(word) ?? []), said.length]);
    said.push(words);
  };
  for (const sentence of sentences) add(sentence);

  return {
    add,
    hasLike(sentence) {
      if (texts.has(keyOf(sentence))) return true;
      const words = wordsOf(sentence);
      const common = new Map<number, number>();
      for (const word of words) for (const at of having.get(word) ?? []) common.set(at, (common.get(at) ?? 0) + 1);
      for (const [at, count] of common) {
        const size = said[at]?.size ?? 0;
        const shorter = Math.min(size, words.size);
        if (count >= CONTAINED_SHARE * shorter && shorter >= SHORT_WORDS) return true;
        if (count >= COMMON_SHARE * (size + words.size - count)) return true;
      }
      return false;
    },
  };
}

/** Of fewer words, all may be in a sentence that says something else. */
const SHORT_WORDS = 4;

/** Two sentences with the same one differ in no letter or digit. */
export const keyOf = (sentence: string): string =>
  sentence
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();

function wordsOf(sentence: string): ReadonlySet<string> {
  const { words, numbers } = claimsOf(sentence);
  return words.union(numbers);
}
