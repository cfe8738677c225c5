/** A text, most often a sentence, and how it was translated before. */
export interface MemoryPair {
  readonly source: string;
  readonly target: string;
}

export interface Memory {
  /** The translation of a text, a line or a sentence that is in the memory as it is. */
  exact(text: string): string | undefined;
  /** Pairs whose source is like the text, nearest first. */
  near(text: string): readonly MemoryPair[];
}

/** Ours: pairs that are shown with one text. */
const NEAR_PAIRS_MAX = 3;

/** Ours: from this share of common pairs of letters on, two sentences are alike. */
const LIKENESS_MIN = 0.4;

/** Texts are the same where they differ in blanks, ways to end a line and composed characters only. */
export function createMemory(pairs: readonly MemoryPair[]): Memory {
  const usable = pairs.filter(({ source, target }) => source.trim() !== '' && target.trim() !== '');
  const exact = new Map(usable.toReversed().map(({ source, target }) => [tidy(source), target.trim()]));
  const counted = usable.map((pair) => ({ pair, bigrams: bigramsOf(pair.source) }));
  return {
    exact: (text) => exact.get(tidy(text)),
    near(text) {
      if (counted.length === 0) return [];
      const wanted = bigramsOf(text);
      return counted
        .map(({ pair, bigrams }) => ({ pair, likeness: likeness(wanted, bigrams) }))
        .filter((each) => each.likeness >= LIKENESS_MIN)
        .toSorted((one, other) => other.likeness - one.likeness)
        .slice(0, NEAR_PAIRS_MAX)
        .map(({ pair }) => pair);
    },
  };
}

const tidy = (text: string): string =>
  text
    .normalize('NFC')
    .trim()
    .replaceAll(/\r\n?/g, '\n')
    .replaceAll(/[^\S\n]+/g, ' ');

function bigramsOf(text: string): ReadonlySet<string> {
  const characters = Array.from(tidy(text).toLowerCase());
  return new Set(characters.map((character, at) => character + (characters[at + 1] ?? '')));
}

/** Twice the common ones, of all: 0 to 1. */
function likeness(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  let common = 0;
  for (const bigram of one) if (other.has(bigram)) common++;
  return one.size + other.size === 0 ? 0 : (2 * common) / (one.size + other.size);
}
