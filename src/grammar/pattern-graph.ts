import { PATTERN_NODES_MAX } from '../core/limits.ts';
import { AutomatonLimitError } from './automaton-limit.ts';
import { ANY_CHARACTER, type CharacterSet } from './characters.ts';
import { PatternError } from './pattern-error.ts';
import type { PatternNode } from './pattern-node.ts';

/** A point in a regular expression, and what leads on from it. Repetitions are written out. */
export type Point =
  | { readonly type: 'set'; readonly set: CharacterSet; readonly to: number }
  | { readonly type: 'edge'; readonly edge: 'start' | 'end'; readonly to: number }
  | { readonly type: 'fork'; readonly to: readonly number[] }
  /** Something was found: the rest of the text is free. */
  | { readonly type: 'found' };

export interface Graph {
  readonly points: readonly Point[];
  readonly start: number;
}

/** Throws PatternError for lookaheads, and AutomatonLimitError when it would have more than PATTERN_NODES_MAX points. */
export function toGraph(pattern: PatternNode): Graph {
  const points: Point[] = [];
  const found = add({ type: 'found' });
  return { points, start: loop((again) => add({ type: 'set', set: ANY_CHARACTER, to: again }), build(pattern, found)) };

  /** Where to enter a part that leads on to `next`. */
  function build(node: PatternNode, next: number): number {
    switch (node.type) {
      case 'set':
        return add({ type: 'set', set: node.set, to: next });
      case 'edge':
        return add({ type: 'edge', edge: node.edge, to: next });
      case 'sequence':
        return node.items.reduceRight((to, item) => build(item, to), next);
      case 'choice':
        return add({ type: 'fork', to: node.options.map((option) => build(option, next)) });
      case 'repeat':
        return repeat(node, next);
      case 'ahead':
        throw new PatternError('has a lookahead elsewhere than after a ^ at its beginning, which is not supported');
    }
  }

  function repeat({ item, min, max }: Extract<PatternNode, { readonly type: 'repeat' }>, next: number): number {
    let entry = next;
    if (max === Infinity) entry = loop((again) => build(item, again), next);
    else for (let count = min; count < max; count++) entry = add({ type: 'fork', to: [build(item, entry), next] });
    for (let count = 0; count < min; count++) {
      const before = build(item, entry);
      // Nothing was added: it matches the empty text only, however often.
      if (before === entry) break;
      entry = before;
    }
    return entry;
  }

  /** Any number of times what `body` builds, then `next`. */
  function loop(body: (again: number) => number, next: number): number {
    const to = [next];
    const fork = add({ type: 'fork', to });
    to.unshift(body(fork));
    return fork;
  }

  function add(point: Point): number {
    if (points.length === PATTERN_NODES_MAX) {
      throw new AutomatonLimitError(`takes more than ${PATTERN_NODES_MAX} steps with its repetitions written out`);
    }
    return points.push(point) - 1;
  }
}
