import type { Automaton, Transition } from '../automaton.ts';

/** Number of characters after which a walk takes the shortest way to an end. */
const FREE_STEPS = 24;

/** Returns a random text of a non-empty language; `random` returns numbers from 0 (inclusive) to 1. */
export function walkAutomaton(automaton: Automaton, random: () => number): string {
  const distances = measureDistances(automaton);
  const below = (count: number): number => Math.floor(random() * count);
  let text = '';
  let number = automaton.start;
  for (let step = 0; ; step++) {
    const { accepts = false, transitions = [] } = automaton.states[number] ?? {};
    const isFree = step < FREE_STEPS;
    if (accepts && (!isFree || transitions.length === 0 || below(8) === 0)) return text;
    if (transitions.length === 0) throw new Error('there is nothing to walk in');
    const nearest = Math.min(...transitions.map(({ state }) => distances[state] ?? Infinity));
    const open = isFree ? transitions : transitions.filter(({ state }) => distances[state] === nearest);
    const transition = open[below(open.length)];
    if (transition === undefined) continue;
    text += String.fromCodePoint(pickCharacter(transition, below));
    number = transition.state;
  }
}

/** Picks a character; often one of the ends of the range, where mistakes are likely. */
function pickCharacter({ from, to }: Transition, below: (count: number) => number): number {
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

/** Returns the number of characters from each state to the nearest end. */
function measureDistances({ states }: Automaton): readonly number[] {
  const distances = states.map(({ accepts }) => (accepts ? 0 : Infinity));
  // States are numbered from the start, so that iterating backwards converges faster.
  const backwards = [...states.entries()].toReversed();
  for (let changed = true; changed; ) {
    changed = false;
    for (const [number, { transitions }] of backwards) {
      const nearest = Math.min(...transitions.map(({ state }) => distances[state] ?? Infinity)) + 1;
      if (nearest >= (distances[number] ?? Infinity)) continue;
      distances[number] = nearest;
      changed = true;
    }
  }
  return distances;
}
