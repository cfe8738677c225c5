import { PATTERN_LOOKAHEADS_MAX } from '../core/limits.ts';
import { difference, fromTable, intersect, type Automaton } from './automaton.ts';
import { charactersWith } from './character-escape.ts';
import { exploreGraph } from './explore-graph.ts';
import { parsePattern, type PatternNeeds } from './parse-pattern.ts';
import { PatternError } from './pattern-error.ts';
import { toGraph } from './pattern-graph.ts';
import type { PatternNode } from './pattern-node.ts';
import { UNCOUNTED, type Work } from './work.ts';

export { PatternError };

/**
 * The texts in which a regular expression finds something, as JSON Schema's `pattern` means it: ECMA-262, unicode mode,
 * not anchored. Lookaheads are understood where an anchored expression begins with them, as descriptions of passwords
 * do (`^(?=.*\d).{8,}$`). Throws PatternError and AutomatonLimitError.
 */
export function fromPattern(
  source: string,
  { work = UNCOUNTED, propertySet = charactersWith }: Partial<PatternNeeds> = {},
): Automaton {
  const { conditions, rest } = splitConditions(parsePattern(source, { work, propertySet }));
  if (conditions.length > PATTERN_LOOKAHEADS_MAX) {
    throw new PatternError(`has ${conditions.length} lookaheads; ${PATTERN_LOOKAHEADS_MAX} are allowed`);
  }
  let automaton = compile(rest, work);
  for (const { item, isWanted } of conditions) {
    const condition = compile({ type: 'sequence', items: [START, item] }, work);
    automaton = (isWanted ? intersect : difference)(automaton, condition, work);
  }
  return automaton;
}

function compile(node: PatternNode, work: Work): Automaton {
  const graph = toGraph(node);
  work.add(graph.points.length);
  return fromTable(exploreGraph(graph, work), work);
}

const START: PatternNode = { type: 'edge', edge: 'start' };

type Condition = Extract<PatternNode, { readonly type: 'ahead' }>;

/** What an anchored expression looks ahead for before anything else. */
function splitConditions(node: PatternNode): { readonly conditions: readonly Condition[]; readonly rest: PatternNode } {
  const items = node.type === 'sequence' ? node.items : [];
  const [first, ...others] = items;
  if (first?.type !== 'edge' || first.edge !== 'start') return { conditions: [], rest: node };
  const count = others.findIndex((item) => item.type !== 'ahead');
  const end = count === -1 ? others.length : count;
  const conditions = others.slice(0, end).filter((item) => item.type === 'ahead');
  return { conditions, rest: { type: 'sequence', items: [first, ...others.slice(end)] } };
}
