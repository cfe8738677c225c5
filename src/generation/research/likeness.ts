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
  const said: Said[] = [];
  /** Which of them have a word: only those are compared. */
  const having = new Map<string, number[]>();

  const add = (sentence: string): void => {
    texts.add(keyOf(sentence));
    const own = saidOf(sentence);
    for (const word of own.words) {
      const places = having.get(word);
      if (places) places.push(said.length);
      else having.set(word, [said.length]);
    }
    said.push(own);
  };
  for (const sentence of sentences) add(sentence);

  return {
    add,
    hasLike(sentence) {
      if (texts.has(keyOf(sentence))) return true;
      const own = saidOf(sentence);
      const common = new Map<number, number>();
      for (const word of own.words) for (const at of having.get(word) ?? []) common.set(at, (common.get(at) ?? 0) + 1);
      return common.entries().some(([at, count]) => {
        const other = said[at];
        return other !== undefined && isLike(own, other, count);
      });
    },
  };
}

interface Said {
  readonly words: ReadonlySet<string>;
  /** Names and numbers: two sentences that differ in them say different things. */
  readonly facts: ReadonlySet<string>;
}

function isLike(one: Said, other: Said, common: number): boolean {
  const [short, long] = one.words.size <= other.words.size ? [one, other] : [other, one];
  const all = one.words.size + other.words.size - common;
  const isContained = short.words.size >= SHORT_WORDS && common >= CONTAINED_SHARE * short.words.size;
  return (isContained || common >= COMMON_SHARE * all) && short.facts.isSubsetOf(long.words);
}

/** Of fewer words, all may be in a sentence that says something else. */
const SHORT_WORDS = 4;

/** Two sentences with the same one differ in no letter or digit. */
export const keyOf = (sentence: string): string =>
  sentence
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();

function saidOf(sentence: string): Said {
  const { words, names, numbers } = claimsOf(sentence);
  return { words: words.union(numbers), facts: names.union(numbers) };
}
