import { AUTOMATON_STEPS_MAX } from './limits.ts';
import { AutomatonLimitError } from './automaton-limit.ts';
import type { CharacterSet } from './character-set.ts';
import { exploreStates, type TransitionTable } from './explore-states.ts';
import { createAlphabet } from './alphabet.ts';
import type { PatternGraph } from './pattern-graph.ts';
import type { WorkBudget } from './work-budget.ts';

/** The set of graph points that are active after some text: a state of the deterministic automaton. */
interface PointSet {
  /** Points that consume a character, sorted. Empty after a match: any further text is accepted. */
  readonly points: readonly number[];
  readonly hasMatched: boolean;
  /** Whether the text may end here. */
  readonly accepts: boolean;
}

const MATCHED: PointSet = { points: [], hasMatched: true, accepts: true };

/**
 * Converts a graph to a deterministic transition table (subset construction).
 * @throws AutomatonLimitError for too many states, or above AUTOMATON_STEPS_MAX steps.
 */
export function exploreGraph({ points, start }: PatternGraph, work: WorkBudget): TransitionTable {
  const numbers = new Map<CharacterSet, number>();
  const setNumberByPoint = points.map((point) => {
    if (point.type !== 'set') return 0;
    const number = numbers.get(point.set) ?? numbers.size;
    numbers.set(point.set, number);
    return number;
  });
  const { symbols, symbolsBySet } = createAlphabet([...numbers.keys()], work);
  const hasEndAnchors = points.some((point) => point.type === 'anchor' && point.anchor === 'end');
  /** Number of the visit in which each point was last seen, so that nothing has to be reset between visits. */
  const lastVisit = points.map(() => 0);
  let visits = 0;
  let steps = 0;

  return exploreStates<PointSet>({
    symbols,
    work,
    startNode: createPointSet([start], 'start'),
    getKey: (pointSet) => (pointSet.hasMatched ? 'match' : `${pointSet.points.join()}${pointSet.accepts ? '!' : ''}`),
    accepts: (pointSet) => pointSet.accepts,
    getTargets(pointSet) {
      if (pointSet.hasMatched) return symbols.map(() => MATCHED);
      const targets: number[][] = symbols.map(() => []);
      for (const number of pointSet.points) {
        const point = points[number];
        if (point?.type !== 'set') continue;
        for (const symbol of symbolsBySet[setNumberByPoint[number] ?? 0] ?? []) {
          targets[symbol]?.push(point.to);
          count();
        }
      }
      return targets.map((entryPoints) =>
        entryPoints.length === 0 ? undefined : createPointSet(entryPoints, 'inside'),
      );
    },
  });

  function createPointSet(entryPoints: readonly number[], where: 'start' | 'inside'): PointSet {
    const found: number[] = [];
    if (followPoints(entryPoints, (edge) => edge === where, found)) return MATCHED;
    const accepts = hasEndAnchors && followPoints(entryPoints, (edge) => edge === where || edge === 'end');
    return { points: found.toSorted((a, b) => a - b), hasMatched: false, accepts };
  }

  /** Follows forks and open anchors from the entry points. Returns true when a match is reached. */
  function followPoints(
    entryPoints: readonly number[],
    isOpenAnchor: (edge: 'start' | 'end') => boolean,
    consumingPoints: number[] = [],
  ): boolean {
    visits++;
    // Visits the restart of the search last, because the first points often match already.
    const stack = entryPoints.toReversed();
    for (let number = stack.pop(); number !== undefined; number = stack.pop()) {
      if (lastVisit[number] === visits) continue;
      lastVisit[number] = visits;
      count();
      const point = points[number];
      if (point === undefined) continue;
      if (point.type === 'match') return true;
      if (point.type === 'set') consumingPoints.push(number);
      else if (point.type === 'fork') stack.push(...point.to);
      else if (isOpenAnchor(point.anchor)) stack.push(point.to);
    }
    return false;
  }

  function count(): void {
    work.add(1);
    if (++steps > AUTOMATON_STEPS_MAX) {
      throw new AutomatonLimitError(`needs more than ${AUTOMATON_STEPS_MAX} steps to compile`);
    }
  }
}
