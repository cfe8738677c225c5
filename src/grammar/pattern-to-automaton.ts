import { PATTERN_LOOKAHEADS_MAX } from './limits.ts';
import { subtractAutomata, tableToAutomaton, intersectAutomata, type Automaton } from './automaton.ts';
import { findCharactersWithProperty } from './character-escape.ts';
import { exploreGraph } from './explore-graph.ts';
import { parsePattern, type PatternDeps } from './parse-pattern.ts';
import { PatternError } from './pattern-error.ts';
import { patternToGraph } from './pattern-graph.ts';
import type { PatternNode } from './pattern-node.ts';
import { UNLIMITED_WORK, type WorkBudget } from './work-budget.ts';

export { PatternError };

/**
 * Returns the automaton of the texts in which a regular expression finds a match, as JSON Schema's `pattern` defines:
 * ECMA-262, Unicode mode, not anchored. Supports lookaheads directly after an initial `^`, as password rules use them
 * (`^(?=.*\d).{8,}$`).
 * @throws PatternError and AutomatonLimitError.
 */
export function patternToAutomaton(
  source: string,
  { work = UNLIMITED_WORK, getPropertySet = findCharactersWithProperty }: Partial<PatternDeps> = {},
): Automaton {
  const { lookaheads, rest } = splitLookaheads(parsePattern(source, { work, getPropertySet }));
  if (lookaheads.length > PATTERN_LOOKAHEADS_MAX) {
    throw new PatternError(`has ${lookaheads.length} lookaheads; ${PATTERN_LOOKAHEADS_MAX} are allowed`);
  }
  let automaton = compileNode(rest, work);
  for (const { item, isPositive } of lookaheads) {
    const lookaheadAutomaton = compileNode({ type: 'sequence', items: [START_ANCHOR, item] }, work);
    automaton = (isPositive ? intersectAutomata : subtractAutomata)(automaton, lookaheadAutomaton, work);
  }
  return automaton;
}

function compileNode(node: PatternNode, work: WorkBudget): Automaton {
  const graph = patternToGraph(node);
  work.add(graph.points.length);
  return tableToAutomaton(exploreGraph(graph, work), work);
}

const START_ANCHOR: PatternNode = { type: 'anchor', anchor: 'start' };

type Lookahead = Extract<PatternNode, { readonly type: 'lookahead' }>;

/** Separates the lookaheads directly after an initial `^` from the rest. */
function splitLookaheads(node: PatternNode): { readonly lookaheads: readonly Lookahead[]; readonly rest: PatternNode } {
  const items = node.type === 'sequence' ? node.items : [];
  const [first, ...others] = items;
  if (first?.type !== 'anchor' || first.anchor !== 'start') return { lookaheads: [], rest: node };
  const count = others.findIndex((item) => item.type !== 'lookahead');
  const end = count === -1 ? others.length : count;
  const lookaheads = others.slice(0, end).filter((item) => item.type === 'lookahead');
  return { lookaheads: lookaheads, rest: { type: 'sequence', items: [first, ...others.slice(end)] } };
}
