import { AUTOMATON_CELLS_MAX, AUTOMATON_STATES_EXPLORED_MAX } from './limits.ts';
import { AutomatonLimitError } from './automaton-limit.ts';
import type { CharacterSet } from './character-set.ts';
import type { WorkBudget } from './work-budget.ts';

/** Stands for the target of a missing transition. */
export const NO_STATE = -1;

/**
 * A deterministic automaton over the symbols of an alphabet; may have dead or equivalent states. State 0 is the start.
 */
export interface TransitionTable {
  readonly symbols: readonly CharacterSet[];
  readonly rows: readonly TransitionRow[];
}

export interface TransitionRow {
  readonly accepts: boolean;
  /** Next state per symbol, or NO_STATE. */
  readonly next: readonly number[];
}

export interface ExplorationOptions<Node> {
  readonly symbols: readonly CharacterSet[];
  readonly work: WorkBudget;
  readonly startNode: Node;
  /** Nodes with the same key are one state. */
  readonly getKey: (node: Node) => string | number;
  readonly accepts: (node: Node) => boolean;
  readonly getTargets: (node: Node) => readonly (Node | undefined)[];
}

/** Finds all reachable states from a description of their transitions. @throws AutomatonLimitError */
export function exploreStates<Node>({
  symbols,
  work,
  startNode,
  getKey,
  accepts,
  getTargets,
}: ExplorationOptions<Node>): TransitionTable {
  const numbers = new Map<string | number, number>([[getKey(startNode), 0]]);
  const nodes = [startNode];
  const rows: TransitionRow[] = [];
  // The loop adds nodes to the list while it iterates.
  for (const node of nodes) {
    const next = getTargets(node).map((target) => {
      if (target === undefined) return NO_STATE;
      const key = getKey(target);
      let number = numbers.get(key);
      if (number === undefined) numbers.set(key, (number = nodes.push(target) - 1));
      return number;
    });
    rows.push({ accepts: accepts(node), next });
    work.add(symbols.length);
    if (nodes.length > AUTOMATON_STATES_EXPLORED_MAX) {
      throw new AutomatonLimitError(`needs more than ${AUTOMATON_STATES_EXPLORED_MAX} states during compilation`);
    }
    if (nodes.length * symbols.length > AUTOMATON_CELLS_MAX) {
      throw new AutomatonLimitError(
        `needs too many states during compilation, with ${symbols.length} different character sets`,
      );
    }
  }
  return { symbols, rows };
}
