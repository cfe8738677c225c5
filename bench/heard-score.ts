/** What was said and what was heard, counted. */
export interface HeardScore {
  /** Names that were said. */
  readonly said: number;
  /** Of these, heard. */
  readonly recalled: number;
  /** Names that were heard more often than they were said. */
  readonly inserted: number;
  readonly words: number;
  /** Words more, less or others than were said. */
  readonly wrongWords: number;
}

/** Lower case and without signs or accents: how a name is written is not how it is heard. */
export const wordsOf = (text: string): readonly string[] =>
  text
    .normalize('NFKD')
    .replace(/\p{Mn}/gu, '')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '');

/** How often a name stands in a text as words of its own. */
export function timesNamed(text: string, name: string): number {
  return ` ${wordsOf(text).join('  ')} `.split(` ${wordsOf(name).join('  ')} `).length - 1;
}

export function heardScore(said: string, heard: string, names: readonly string[]): HeardScore {
  const counts = names.map((name) => ({ said: timesNamed(said, name), heard: timesNamed(heard, name) }));
  const sumOf = (of: (count: { readonly said: number; readonly heard: number }) => number): number =>
    counts.reduce((sum, count) => sum + of(count), 0);
  return {
    said: sumOf((count) => count.said),
    recalled: sumOf((count) => Math.min(count.said, count.heard)),
    inserted: sumOf((count) => Math.max(0, count.heard - count.said)),
    words: wordsOf(said).length,
    wrongWords: distance(wordsOf(said), wordsOf(heard)),
  };
}

/** Least number of words to put in, leave out or change. */
function distance(from: readonly string[], to: readonly string[]): number {
  let row = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (const [at, word] of from.entries()) {
    const next = [at + 1];
    for (const [place, other] of to.entries())
      next.push(
        Math.min((row[place] ?? 0) + (word === other ? 0 : 1), (row[place + 1] ?? 0) + 1, (next[place] ?? 0) + 1),
      );
    row = next;
  }
  return row[to.length] ?? 0;
}
