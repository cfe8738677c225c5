import { PATTERN_NODES_MAX } from './limits.ts';
import { AutomatonLimitError } from './automaton-limit.ts';
import { ANY_CHARACTER, type CharacterSet } from './character-set.ts';
import { PatternError } from './pattern-error.ts';
import type { PatternNode } from './pattern-node.ts';

/** A point of a nondeterministic automaton for a regular expression. Repetitions are unrolled. */
export type GraphPoint =
  | { readonly type: 'set'; readonly set: CharacterSet; readonly to: number }
  | { readonly type: 'anchor'; readonly anchor: 'start' | 'end'; readonly to: number }
  | { readonly type: 'fork'; readonly to: readonly number[] }
  /** The expression has matched: any further text is accepted. */
  | { readonly type: 'match' };

export interface PatternGraph {
  readonly points: readonly GraphPoint[];
  readonly start: number;
}

/** Builds the graph. @throws PatternError for lookaheads; AutomatonLimitError above PATTERN_NODES_MAX points. */
export function patternToGraph(pattern: PatternNode): PatternGraph {
  const points: GraphPoint[] = [];
  const found = addPoint({ type: 'match' });
  return {
    points,
    start: addLoop((again) => addPoint({ type: 'set', set: ANY_CHARACTER, to: again }), addNode(pattern, found)),
  };

  /** Adds a node that leads to `next`. Returns its entry point. */
  function addNode(node: PatternNode, next: number): number {
    switch (node.type) {
      case 'set':
        return addPoint({ type: 'set', set: node.set, to: next });
      case 'anchor':
        return addPoint({ type: 'anchor', anchor: node.anchor, to: next });
      case 'sequence':
        return node.items.reduceRight((to, item) => addNode(item, to), next);
      case 'choice':
        return addPoint({ type: 'fork', to: node.options.map((option) => addNode(option, next)) });
      case 'repeat':
        return addRepeat(node, next);
      case 'lookahead':
        throw new PatternError(
          'has a lookahead that does not directly follow a ^ at its start, which is not supported',
        );
    }
  }

  function addRepeat({ item, min, max }: Extract<PatternNode, { readonly type: 'repeat' }>, next: number): number {
    let entry = next;
    if (max === Infinity) entry = addLoop((again) => addNode(item, again), next);
    else
      for (let count = min; count < max; count++) entry = addPoint({ type: 'fork', to: [addNode(item, entry), next] });
    for (let count = 0; count < min; count++) {
      const before = addNode(item, entry);
      // No point was added: the item matches the empty text only, however often it is repeated.
      if (before === entry) break;
      entry = before;
    }
    return entry;
  }

  /** Adds zero or more repetitions of `body`, followed by `next`. */
  function addLoop(body: (again: number) => number, next: number): number {
    const to = [next];
    const fork = addPoint({ type: 'fork', to });
    to.unshift(body(fork));
    return fork;
  }

  function addPoint(point: GraphPoint): number {
    if (points.length === PATTERN_NODES_MAX) {
      throw new AutomatonLimitError(`needs more than ${PATTERN_NODES_MAX} nodes after its repetitions are unrolled`);
    }
    return points.push(point) - 1;
  }
}
