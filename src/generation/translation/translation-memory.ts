/** A text, usually a sentence, and an earlier translation of it. */
export interface MemoryPair {
  readonly source: string;
  readonly target: string;
}

export interface TranslationMemory {
  /** Returns the translation of a text that the memory contains exactly. */
  findExact(text: string): string | undefined;
  /** Returns pairs with a similar source, most similar first. */
  findSimilar(text: string): readonly MemoryPair[];
}

/** Similar pairs that one prompt shows. */
const SIMILAR_PAIRS_MAX = 3;

/** Dice coefficient of character bigrams from which two sentences count as similar. */
const SIMILARITY_MIN = 0.4;

/** Texts match exactly when they differ only in spaces, line endings and Unicode composition. */
export function createTranslationMemory(pairs: readonly MemoryPair[]): TranslationMemory {
  const usable = pairs.filter(({ source, target }) => source.trim() !== '' && target.trim() !== '');
  const translations = new Map(usable.toReversed().map(({ source, target }) => [normalizeText(source), target.trim()]));
  const pairsWithBigrams = usable.map((pair) => ({ pair, bigrams: listBigrams(pair.source) }));
  return {
    findExact: (text) => translations.get(normalizeText(text)),
    findSimilar(text) {
      if (pairsWithBigrams.length === 0) return [];
      const textBigrams = listBigrams(text);
      return pairsWithBigrams
        .map(({ pair, bigrams }) => ({ pair, likeness: diceSimilarity(textBigrams, bigrams) }))
        .filter((each) => each.likeness >= SIMILARITY_MIN)
        .toSorted((one, other) => other.likeness - one.likeness)
        .slice(0, SIMILAR_PAIRS_MAX)
        .map(({ pair }) => pair);
    },
  };
}

const normalizeText = (text: string): string =>
  text
    .normalize('NFC')
    .trim()
    .replaceAll(/\r\n?/g, '\n')
    .replaceAll(/[^\S\n]+/g, ' ');

function listBigrams(text: string): ReadonlySet<string> {
  const characters = Array.from(normalizeText(text).toLowerCase());
  return new Set(characters.map((character, at) => character + (characters[at + 1] ?? '')));
}

/** Returns the Dice coefficient: twice the common bigrams divided by all, 0 to 1. */
function diceSimilarity(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  let common = 0;
  for (const bigram of one) if (other.has(bigram)) common++;
  return one.size + other.size === 0 ? 0 : (2 * common) / (one.size + other.size);
}
