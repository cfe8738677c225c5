/** Least share of common letter pairs, from 0 to 1, of names that count as similar. */
const SIMILARITY_MIN = 0.5;

/** Returns up to `countMax` names that are similar to the wanted one, the most similar first. Case and punctuation do not count. */
export function findNearNames(wanted: string, names: readonly string[], countMax = 5): readonly string[] {
  const wantedPairs = listPairs(wanted);
  return names
    .map((name) => ({ name, similarity: computeSimilarity(wantedPairs, listPairs(name)) }))
    .filter(({ similarity }) => similarity >= SIMILARITY_MIN)
    .toSorted((one, other) => other.similarity - one.similarity)
    .slice(0, countMax)
    .map(({ name }) => name);
}

/** Returns the set of pairs of adjacent letters and digits. */
function listPairs(name: string): ReadonlySet<string> {
  const letters = name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
  return new Set(Array.from({ length: Math.max(0, letters.length - 1) }, (_, at) => letters.slice(at, at + 2)));
}

/** Computes the Dice coefficient, or the share of the wanted pairs where it is larger: a part of a name is similar to it. */
function computeSimilarity(wanted: ReadonlySet<string>, other: ReadonlySet<string>): number {
  const common = [...wanted].filter((pair) => other.has(pair)).length;
  const dice = (2 * common) / Math.max(1, wanted.size + other.size);
  return common === wanted.size && common > 0 ? Math.max(dice, SIMILARITY_MIN) : dice;
}
