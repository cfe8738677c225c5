import { AUTOMATON_STEPS_MAX } from '../core/limits.ts';
import { AutomatonLimitError } from './automaton-limit.ts';
import type { CharacterSet } from './characters.ts';
import { explore, type Table } from './explore.ts';
import { toLetters } from './letters.ts';
import type { Graph } from './pattern-graph.ts';
import type { Work } from './work.ts';

/** Where one may be in the graph, at the same time, after some text. */
interface Place {
  /** The points that take a character; sorted. None once something was found: all that follows is accepted. */
  readonly points: readonly number[];
  readonly hasFound: boolean;
  /** Whether the text may end here. */
  readonly accepts: boolean;
}

const FOUND: Place = { points: [], hasFound: true, accepts: true };

/**
 * Follows all ways through a graph at once. Throws AutomatonLimitError when there are too many combinations of them, or
 * when finding them takes more than AUTOMATON_STEPS_MAX steps.
 */
export function exploreGraph({ points, start }: Graph, work: Work): Table {
  const numbers = new Map<CharacterSet, number>();
  const numberOf = points.map((point) => {
    if (point.type !== 'set') return 0;
    const number = numbers.get(point.set) ?? numbers.size;
    numbers.set(point.set, number);
    return number;
  });
  const { letters, spelt } = toLetters([...numbers.keys()], work);
  const hasEnds = points.some((point) => point.type === 'edge' && point.edge === 'end');
  /** When each point was last visited, as the number of the visit: nothing has to be cleared. */
  const seen = points.map(() => 0);
  let visits = 0;
  let steps = 0;

  return explore<Place>({
    letters,
    work,
    start: placeOf([start], 'start'),
    keyOf: (place) => (place.hasFound ? 'found' : `${place.points.join()}${place.accepts ? '!' : ''}`),
    accepts: (place) => place.accepts,
    step(place) {
      if (place.hasFound) return letters.map(() => FOUND);
      const targets: number[][] = letters.map(() => []);
      for (const number of place.points) {
        const point = points[number];
        if (point?.type !== 'set') continue;
        for (const letter of spelt[numberOf[number] ?? 0] ?? []) {
          targets[letter]?.push(point.to);
          count();
        }
      }
      return targets.map((entries) => (entries.length === 0 ? undefined : placeOf(entries, 'inside')));
    },
  });

  function placeOf(entries: readonly number[], where: 'start' | 'inside'): Place {
    const found: number[] = [];
    if (follow(entries, (edge) => edge === where, found)) return FOUND;
    const accepts = hasEnds && follow(entries, (edge) => edge === where || edge === 'end');
    return { points: found.toSorted((a, b) => a - b), hasFound: false, accepts };
  }

  /** Goes as far as possible without a character, over the edges that are open; whether something was found. */
  function follow(
    entries: readonly number[],
    isOpen: (edge: 'start' | 'end') => boolean,
    taking: number[] = [],
  ): boolean {
    visits++;
    // The search that begins anew at each character has the last number. It comes last: often something is found before.
    const waiting = entries.toReversed();
    for (let number = waiting.pop(); number !== undefined; number = waiting.pop()) {
      if (seen[number] === visits) continue;
      seen[number] = visits;
      count();
      const point = points[number];
      if (point === undefined) continue;
      if (point.type === 'found') return true;
      if (point.type === 'set') taking.push(number);
      else if (point.type === 'fork') waiting.push(...point.to);
      else if (isOpen(point.edge)) waiting.push(point.to);
    }
    return false;
  }

  function count(): void {
    work.add(1);
    if (++steps > AUTOMATON_STEPS_MAX) {
      throw new AutomatonLimitError(`takes more than ${AUTOMATON_STEPS_MAX} steps to work out`);
    }
  }
}
