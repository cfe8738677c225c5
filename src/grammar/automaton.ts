import { AUTOMATON_TRANSITIONS_MAX, AUTOMATON_STATES_MAX } from './limits.ts';
import { AutomatonLimitError } from './automaton-limit.ts';
import { ANY_CHARACTER, type CharacterSet } from './character-set.ts';
import { exploreStates, NO_STATE, type TransitionRow, type TransitionTable } from './explore-states.ts';
import { createAlphabet } from './alphabet.ts';
import { minimizeRows } from './minimize-rows.ts';
import { UNLIMITED_WORK, type WorkBudget } from './work-budget.ts';

export { AutomatonLimitError };

/**
 * A minimal deterministic finite automaton over Unicode code points, without surrogates. Every state is reachable and
 * can reach acceptance; only an automaton that accepts nothing has one state that cannot.
 */
export interface Automaton {
  readonly start: number;
  readonly states: readonly AutomatonState[];
}

export interface AutomatonState {
  readonly accepts: boolean;
  /** Disjoint and sorted by code point. A character that no transition contains is not accepted. */
  readonly transitions: readonly Transition[];
}

/** Code points `from` to `to`, both inclusive, lead to `state`. */
export interface Transition {
  readonly from: number;
  readonly to: number;
  readonly state: number;
}

/**
 * Returns the automaton of the texts that both accept. All functions in this file that return an automaton count their
 * steps in `work`. @throws AutomatonLimitError, as all of them do.
 */
export function intersectAutomata(a: Automaton, b: Automaton, work = UNLIMITED_WORK): Automaton {
  return combineAutomata([a, b], (inA, inB) => inA && inB, work);
}

/** Returns the automaton of the texts that `a` accepts and `b` does not. */
export function subtractAutomata(a: Automaton, b: Automaton, work = UNLIMITED_WORK): Automaton {
  return combineAutomata([a, b], (inA, inB) => inA && !inB, work);
}

/** Returns the automaton of the texts that at least one of them accepts. */
export function uniteAutomata(a: Automaton, b: Automaton, work = UNLIMITED_WORK): Automaton {
  return combineAutomata([a, b], (inA, inB) => inA || inB, work);
}

/** Creates an automaton for texts of `min` to `max` code points; without `max`, of at least `min`. */
export function createLengthAutomaton(min: number, max: number | undefined, work = UNLIMITED_WORK): Automaton {
  if (max !== undefined && max < min) return tableToAutomaton({ symbols: [], rows: [{ accepts: false, next: [] }] });
  const last = max ?? min;
  if (last >= AUTOMATON_STATES_MAX) {
    throw new AutomatonLimitError(`counts ${last} characters; at most ${AUTOMATON_STATES_MAX - 1} can be counted`);
  }
  const next = (count: number) => (count < last ? count + 1 : max === undefined ? count : NO_STATE);
  const rows = Array.from({ length: last + 1 }, (_, count) => ({ accepts: count >= min, next: [next(count)] }));
  return tableToAutomaton({ symbols: [ANY_CHARACTER], rows }, work);
}

/** Creates an automaton for exactly these texts. Leaves out texts that contain a lone surrogate. */
export function createTextsAutomaton(texts: Iterable<string>, work = UNLIMITED_WORK): Automaton {
  interface Node {
    ends: boolean;
    readonly branches: Map<number, Node>;
  }
  const createNode = (): Node => ({ ends: false, branches: new Map() });
  const root = createNode();
  const nodes = [root];
  for (const text of texts) {
    if (!text.isWellFormed()) continue;
    let node = root;
    for (const character of text) {
      const codePoint = character.codePointAt(0) ?? 0;
      let branch = node.branches.get(codePoint);
      if (branch === undefined) {
        node.branches.set(codePoint, (branch = createNode()));
        nodes.push(branch);
      }
      node = branch;
    }
    node.ends = true;
  }
  // From the ends backwards, so that nodes with equal remainders are merged before rows are created.
  const keys = new Map<Node, number>();
  const known = new Map<string, number>();
  for (const node of nodes.toReversed()) {
    const branches = [...node.branches].map(([codePoint, branch]) => `${codePoint}>${keys.get(branch)}`);
    const signature = `${node.ends} ${branches.toSorted().join()}`;
    const key = known.get(signature) ?? known.size;
    known.set(signature, key);
    keys.set(node, key);
  }
  const codePoints = [...new Set(nodes.flatMap(({ branches }) => [...branches.keys()]))];
  return tableToAutomaton(
    exploreStates({
      work,
      symbols: codePoints.map((codePoint) => [{ from: codePoint, to: codePoint }]),
      startNode: root,
      getKey: (node) => keys.get(node) ?? NO_STATE,
      accepts: ({ ends }) => ends,
      getTargets: ({ branches }) => codePoints.map((codePoint) => branches.get(codePoint)),
    }),
    work,
  );
}

export function createAnyTextAutomaton(): Automaton {
  return createLengthAutomaton(0, undefined);
}

export function isEmpty(automaton: Automaton): boolean {
  return !automaton.states.some((state) => state.accepts);
}

export function acceptsText(automaton: Automaton, text: string): boolean {
  let state = automaton.states[automaton.start];
  for (const character of text) {
    const codePoint = character.codePointAt(0) ?? 0;
    const transition = state && findTransition(state, codePoint);
    if (transition === undefined) return false;
    state = automaton.states[transition.state];
  }
  return state?.accepts ?? false;
}

/** Binary search: a class such as "letter of any script" has 700 ranges. */
function findTransition({ transitions }: AutomatonState, codePoint: number): Transition | undefined {
  let [low, high] = [0, transitions.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((transitions[middle]?.to ?? 0) < codePoint) low = middle + 1;
    else high = middle;
  }
  const transition = transitions[low];
  return transition && transition.from <= codePoint ? transition : undefined;
}

/** Minimizes a transition table and converts its symbols back to code points. */
export function tableToAutomaton({ symbols, rows }: TransitionTable, work = UNLIMITED_WORK): Automaton {
  work.add(rows.length * symbols.length * STEPS_PER_CELL);
  const minimalRows = minimizeRows(rows);
  if (minimalRows.length > AUTOMATON_STATES_MAX) {
    throw new AutomatonLimitError(`needs ${minimalRows.length} states; at most ${AUTOMATON_STATES_MAX} are allowed`);
  }
  const size = (symbol: number): number => symbols[symbol]?.length ?? 0;
  const count = sum(minimalRows.map(({ next }) => sum(next.map((to, symbol) => (to === NO_STATE ? 0 : size(symbol))))));
  if (count > AUTOMATON_TRANSITIONS_MAX) {
    throw new AutomatonLimitError(`needs ${count} character ranges; at most ${AUTOMATON_TRANSITIONS_MAX} are allowed`);
  }
  work.add(STEPS_PER_TRANSITION * count);
  const states = minimalRows.map(({ accepts: isEnd, next }) => {
    const transitions: Transition[] = [];
    const ranges = next.flatMap((state, symbol) =>
      state === NO_STATE ? [] : (symbols[symbol] ?? []).map(({ from, to }) => ({ from, to, state })),
    );
    for (const transition of ranges.toSorted((a, b) => a.from - b.from)) {
      const last = transitions.at(-1);
      if (last?.state === transition.state && last.to === transition.from - 1)
        transitions[transitions.length - 1] = { ...transition, from: last.from };
      else transitions.push(transition);
    }
    return { accepts: isEnd, transitions };
  });
  return { start: 0, states };
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** Minimization visits a state again whenever one of its targets moves to another block. */
const STEPS_PER_CELL = 2;

/** A transition costs an object and a part of a key. */
const STEPS_PER_TRANSITION = 2;

type StatePair = readonly [number, number];

/** Runs both automata in parallel. A state of the pair may be NO_STATE and then stays so. */
function combineAutomata(
  [a, b]: readonly [Automaton, Automaton],
  decide: (inA: boolean, inB: boolean) => boolean,
  work: WorkBudget,
): Automaton {
  const { symbols, rowsByAutomaton } = alignAlphabets([a, b], work);
  const [rowsA = [], rowsB = []] = rowsByAutomaton;
  const canAccept = ([inA, inB]: StatePair): boolean => {
    const [stillA, stillB] = [inA !== NO_STATE, inB !== NO_STATE];
    return decide(stillA, stillB) || decide(stillA, false) || decide(false, stillB);
  };
  const table = exploreStates<StatePair>({
    symbols,
    work,
    startNode: [a.start, b.start],
    getKey: ([inA, inB]) => inA * (rowsB.length + 1) + inB + 1,
    accepts: ([inA, inB]) => decide(rowsA[inA]?.accepts ?? false, rowsB[inB]?.accepts ?? false),
    getTargets: ([inA, inB]) =>
      symbols.map((_, symbol) => {
        const pair: StatePair = [rowsA[inA]?.next[symbol] ?? NO_STATE, rowsB[inB]?.next[symbol] ?? NO_STATE];
        return canAccept(pair) ? pair : undefined;
      }),
  });
  return tableToAutomaton(table, work);
}

/** Converts several automata to transition tables over the same alphabet. */
function alignAlphabets(
  automata: readonly Automaton[],
  work: WorkBudget,
): {
  readonly symbols: readonly CharacterSet[];
  readonly rowsByAutomaton: readonly (readonly TransitionRow[])[];
} {
  const sets: CharacterSet[] = [];
  const numbers = new Map<string, number>();
  const getSetNumber = (transitions: readonly Transition[]): number => {
    const key = transitions.map(({ from, to }) => `${from}-${to}`).join();
    let number = numbers.get(key);
    if (number === undefined) numbers.set(key, (number = sets.push(transitions) - 1));
    return number;
  };
  const stateOutlines = automata.map(({ states }) =>
    states.map(({ accepts: isEnd, transitions }) => ({
      isEnd,
      targets: [...Map.groupBy(transitions, ({ state }) => state)].map(([state, group]) => ({
        state,
        set: getSetNumber(group),
      })),
    })),
  );
  for (const { states } of automata)
    for (const { transitions } of states) work.add(STEPS_PER_TRANSITION * transitions.length);
  const { symbols, symbolsBySet } = createAlphabet(sets, work);
  const rowsByAutomaton = stateOutlines.map((rows) =>
    rows.map(({ isEnd, targets }) => {
      const next = symbols.map(() => NO_STATE);
      for (const { state, set } of targets) for (const symbol of symbolsBySet[set] ?? []) next[symbol] = state;
      return { accepts: isEnd, next };
    }),
  );
  return { symbols, rowsByAutomaton };
}
