import { AUTOMATON_STEPS_MAX } from '../core/limits.ts';
import { AutomatonLimitError } from './automaton-limit.ts';
import type { CharacterRange, CharacterSet } from './characters.ts';
import type { Work } from './work.ts';

export interface Letters {
  /** Disjoint; each given set is a union of some. What no set holds is in none. */
  readonly letters: readonly CharacterSet[];
  /** For each given set, which letters make it up. */
  readonly spelt: readonly (readonly number[])[];
}

/**
 * The coarsest alphabet in which all the sets can be told: automata are built over a handful of letters instead of a
 * million code points. Throws AutomatonLimitError.
 */
export function toLetters(sets: readonly CharacterSet[], work: Work): Letters {
  const cuts = [...new Set(sets.flatMap((set) => set.flatMap(({ from, to }) => [from, to + 1])))].toSorted(
    (a, b) => a - b,
  );
  const indexOf = new Map(cuts.map((cut, index) => [cut, index]));
  /** Of each piece between two cuts, the letter it belongs to; split further by each set. */
  const groups = cuts.map(() => 0);
  let count = 1;
  let steps = 0;
  for (const set of sets) {
    const split = new Map<number, number>();
    for (const index of piecesOf(set, indexOf)) {
      if (++steps > AUTOMATON_STEPS_MAX) throw new AutomatonLimitError('has too many different character sets');
      work.add(1);
      const group = groups[index] ?? 0;
      let part = split.get(group);
      if (part === undefined) split.set(group, (part = count++));
      groups[index] = part;
    }
  }
  const numbers = new Map<number, number>();
  const letters: CharacterRange[][] = [];
  const spelt = sets.map((set) => {
    const own = new Set<number>();
    for (const index of piecesOf(set, indexOf)) own.add(groups[index] ?? 0);
    return [...own].map((group) => {
      let number = numbers.get(group);
      if (number === undefined) numbers.set(group, (number = letters.push([]) - 1));
      return number;
    });
  });
  for (const [index, from] of cuts.entries()) {
    const number = numbers.get(groups[index] ?? 0);
    const end = cuts[index + 1];
    if (number === undefined || end === undefined) continue;
    const ranges = letters[number] ?? [];
    const last = ranges.at(-1);
    if (last?.to === from - 1) ranges[ranges.length - 1] = { from: last.from, to: end - 1 };
    else ranges.push({ from, to: end - 1 });
  }
  return { letters, spelt };
}

function* piecesOf(set: CharacterSet, indexOf: ReadonlyMap<number, number>): Generator<number> {
  for (const { from, to } of set) {
    const end = indexOf.get(to + 1) ?? 0;
    for (let index = indexOf.get(from) ?? 0; index < end; index++) yield index;
  }
}
