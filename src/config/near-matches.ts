/** Finds names that `name` may be a misspelling of, with at most two characters added, removed, changed or swapped. */
export function findNearMatches(name: string, known: readonly string[]): readonly string[] {
  const distance = (other: string) => editDistance(name.toLowerCase(), other.toLowerCase());
  // Two changes turn a short name into any other short name.
  const distanceMax = name.length <= 4 ? 1 : 2;
  return known.filter((other) => distance(other) <= distanceMax).toSorted((a, b) => distance(a) - distance(b));
}

/** Levenshtein distance in which swapped neighbors count as one change (optimal string alignment). */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = a[i - 1] === b[j - 1] ? 0 : 1;
      let least = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + change);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (isSwap) least = Math.min(least, (before[j - 2] ?? 0) + 1);
      row.push(least);
    }
    before = last;
    last = row;
  }
  return last[b.length] ?? 0;
}
