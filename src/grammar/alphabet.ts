import { AUTOMATON_STEPS_MAX } from './limits.ts';
import { AutomatonLimitError } from './automaton-limit.ts';
import type { CharacterRange, CharacterSet } from './character-set.ts';
import type { WorkBudget } from './work-budget.ts';

export interface Alphabet {
  /** Disjoint sets; each given set is a union of some of them. Characters outside all given sets are in none. */
  readonly symbols: readonly CharacterSet[];
  /** The symbols that form each given set. */
  readonly symbolsBySet: readonly (readonly number[])[];
}

/**
 * Creates the smallest alphabet that distinguishes all sets, so that automata use a few symbols instead of a million
 * code points.
 * @throws AutomatonLimitError
 */
export function createAlphabet(sets: readonly CharacterSet[], work: WorkBudget): Alphabet {
  const boundaries = [...new Set(sets.flatMap((set) => set.flatMap(({ from, to }) => [from, to + 1])))].toSorted(
    (a, b) => a - b,
  );
  const indexOf = new Map(boundaries.map((boundary, index) => [boundary, index]));
  /** Group of each interval between two boundaries; each set splits the groups further. */
  const groups = boundaries.map(() => 0);
  let count = 1;
  let steps = 0;
  for (const set of sets) {
    const split = new Map<number, number>();
    for (const index of listIntervals(set, indexOf)) {
      if (++steps > AUTOMATON_STEPS_MAX) throw new AutomatonLimitError('has too many different character sets');
      work.add(1);
      const group = groups[index] ?? 0;
      let part = split.get(group);
      if (part === undefined) split.set(group, (part = count++));
      groups[index] = part;
    }
  }
  const numbers = new Map<number, number>();
  const symbols: CharacterRange[][] = [];
  const symbolsBySet = sets.map((set) => {
    const groupsOfSet = new Set<number>();
    for (const index of listIntervals(set, indexOf)) groupsOfSet.add(groups[index] ?? 0);
    return [...groupsOfSet].map((group) => {
      let number = numbers.get(group);
      if (number === undefined) numbers.set(group, (number = symbols.push([]) - 1));
      return number;
    });
  });
  for (const [index, from] of boundaries.entries()) {
    const number = numbers.get(groups[index] ?? 0);
    const end = boundaries[index + 1];
    if (number === undefined || end === undefined) continue;
    const ranges = symbols[number] ?? [];
    const last = ranges.at(-1);
    if (last?.to === from - 1) ranges[ranges.length - 1] = { from: last.from, to: end - 1 };
    else ranges.push({ from, to: end - 1 });
  }
  return { symbols, symbolsBySet };
}

function* listIntervals(set: CharacterSet, indexOf: ReadonlyMap<number, number>): Generator<number> {
  for (const { from, to } of set) {
    const end = indexOf.get(to + 1) ?? 0;
    for (let index = indexOf.get(from) ?? 0; index < end; index++) yield index;
  }
}
