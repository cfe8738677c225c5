import type { Automaton, Move } from '../automaton.ts';

/** Characters after which a walk goes the shortest way to an end. */
const FREE_STEPS = 24;

/** A random member of a language that is not empty; `random` gives numbers from 0 to below 1. */
export function walk(automaton: Automaton, random: () => number): string {
  const distances = distancesOf(automaton);
  const below = (count: number): number => Math.floor(random() * count);
  let text = '';
  let number = automaton.start;
  for (let step = 0; ; step++) {
    const { accepts = false, moves = [] } = automaton.states[number] ?? {};
    const isFree = step < FREE_STEPS;
    if (accepts && (!isFree || moves.length === 0 || below(8) === 0)) return text;
    if (moves.length === 0) throw new Error('there is nothing to walk in');
    const nearest = Math.min(...moves.map(({ state }) => distances[state] ?? Infinity));
    const open = isFree ? moves : moves.filter(({ state }) => distances[state] === nearest);
    const move = open[below(open.length)];
    if (move === undefined) continue;
    text += String.fromCodePoint(characterOf(move, below));
    number = move.state;
  }
}

/** Often one of the ends of the range: that is where mistakes are. */
function characterOf({ from, to }: Move, below: (count: number) => number): number {
  switch (below(4)) {
    case 0:
      return from;
    case 1:
      return to;
    case 2:
      return from + below(Math.min(to - from + 1, 128));
    default:
      return from + below(to - from + 1);
  }
}

/** Of each state, the characters to the nearest end. */
function distancesOf({ states }: Automaton): readonly number[] {
  const distances = states.map(({ accepts }) => (accepts ? 0 : Infinity));
  // States are numbered from the start, so that the last first is the short way.
  const backwards = [...states.entries()].toReversed();
  for (let changed = true; changed; ) {
    changed = false;
    for (const [number, { moves }] of backwards) {
      const nearest = Math.min(...moves.map(({ state }) => distances[state] ?? Infinity)) + 1;
      if (nearest >= (distances[number] ?? Infinity)) continue;
      distances[number] = nearest;
      changed = true;
    }
  }
  return distances;
}
