import { AUTOMATON_MOVES_MAX, AUTOMATON_STATES_MAX } from '../core/limits.ts';
import { AutomatonLimitError } from './automaton-limit.ts';
import { ANY_CHARACTER, type CharacterSet } from './characters.ts';
import { explore, NOWHERE, type Row, type Table } from './explore.ts';
import { toLetters } from './letters.ts';
import { minimise } from './minimise.ts';
import { UNCOUNTED, type Work } from './work.ts';

export { AutomatonLimitError };

/**
 * A deterministic finite automaton over Unicode code points (never surrogates), minimal. Every state can be reached and
 * can reach acceptance; only where nothing at all is accepted there is one state that cannot.
 */
export interface Automaton {
  readonly start: number;
  readonly states: readonly State[];
}

export interface State {
  readonly accepts: boolean;
  /** Disjoint and sorted. What none of them holds is not accepted. */
  readonly moves: readonly Move[];
}

/** Code points `from` to `to`, both included, lead to `state`. */
export interface Move {
  readonly from: number;
  readonly to: number;
  readonly state: number;
}

/**
 * Texts that both accept. Throws AutomatonLimitError, as do all functions here that give an automaton; `work` counts what
 * it takes.
 */
export function intersect(a: Automaton, b: Automaton, work = UNCOUNTED): Automaton {
  return combine([a, b], (inA, inB) => inA && inB, work);
}

/** Texts that `a` accepts and `b` does not. */
export function difference(a: Automaton, b: Automaton, work = UNCOUNTED): Automaton {
  return combine([a, b], (inA, inB) => inA && !inB, work);
}

/** Texts that one of them accepts, or both. */
export function union(a: Automaton, b: Automaton, work = UNCOUNTED): Automaton {
  return combine([a, b], (inA, inB) => inA || inB, work);
}

/** Texts of `min` to `max` code points; without `max`, of any number from `min`. */
export function ofLength(min: number, max: number | undefined, work = UNCOUNTED): Automaton {
  if (max !== undefined && max < min) return fromTable({ letters: [], rows: [{ accepts: false, next: [] }] });
  const last = max ?? min;
  if (last >= AUTOMATON_STATES_MAX) {
    throw new AutomatonLimitError(`counts ${last} characters; ${AUTOMATON_STATES_MAX - 1} can be counted`);
  }
  const next = (count: number) => (count < last ? count + 1 : max === undefined ? count : NOWHERE);
  const rows = Array.from({ length: last + 1 }, (_, count) => ({ accepts: count >= min, next: [next(count)] }));
  return fromTable({ letters: [ANY_CHARACTER], rows }, work);
}

/** Exactly these texts. What holds a lone surrogate is no text. */
export function ofTexts(texts: Iterable<string>, work = UNCOUNTED): Automaton {
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
  // From the ends backwards, so that nodes with the same rest of a text are one before rows are made.
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
  return fromTable(
    explore({
      work,
      letters: codePoints.map((codePoint) => [{ from: codePoint, to: codePoint }]),
      start: root,
      keyOf: (node) => keys.get(node) ?? NOWHERE,
      accepts: ({ ends }) => ends,
      step: ({ branches }) => codePoints.map((codePoint) => branches.get(codePoint)),
    }),
    work,
  );
}

export function anyText(): Automaton {
  return ofLength(0, undefined);
}

export function isEmpty(automaton: Automaton): boolean {
  return !automaton.states.some((state) => state.accepts);
}

export function accepts(automaton: Automaton, text: string): boolean {
  let state = automaton.states[automaton.start];
  for (const character of text) {
    const codePoint = character.codePointAt(0) ?? 0;
    const move = state && moveOn(state, codePoint);
    if (move === undefined) return false;
    state = automaton.states[move.state];
  }
  return state?.accepts ?? false;
}

/** A letter of any script is one of 700 ranges, so they are not looked at one by one. */
function moveOn({ moves }: State, codePoint: number): Move | undefined {
  let [low, high] = [0, moves.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((moves[middle]?.to ?? 0) < codePoint) low = middle + 1;
    else high = middle;
  }
  const move = moves[low];
  return move && move.from <= codePoint ? move : undefined;
}

/** Minimal, over code points again. */
export function fromTable({ letters, rows }: Table, work = UNCOUNTED): Automaton {
  work.add(rows.length * letters.length * STEPS_PER_CELL);
  const least = minimise(rows);
  if (least.length > AUTOMATON_STATES_MAX) {
    throw new AutomatonLimitError(`takes ${least.length} states; ${AUTOMATON_STATES_MAX} are allowed`);
  }
  const size = (letter: number): number => letters[letter]?.length ?? 0;
  const count = sum(least.map(({ next }) => sum(next.map((to, letter) => (to === NOWHERE ? 0 : size(letter))))));
  if (count > AUTOMATON_MOVES_MAX) {
    throw new AutomatonLimitError(`takes ${count} character ranges; ${AUTOMATON_MOVES_MAX} are allowed`);
  }
  work.add(STEPS_PER_MOVE * count);
  const states = least.map(({ accepts: isEnd, next }) => {
    const moves: Move[] = [];
    const ranges = next.flatMap((state, letter) =>
      state === NOWHERE ? [] : (letters[letter] ?? []).map(({ from, to }) => ({ from, to, state })),
    );
    for (const move of ranges.toSorted((a, b) => a.from - b.from)) {
      const last = moves.at(-1);
      if (last?.state === move.state && last.to === move.from - 1)
        moves[moves.length - 1] = { ...move, from: last.from };
      else moves.push(move);
    }
    return { accepts: isEnd, moves };
  });
  return { start: 0, states };
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** Minimising looks at a state again whenever one that it leads to is told apart. */
const STEPS_PER_CELL = 2;

/** A move is an object, and part of a key. */
const STEPS_PER_MOVE = 2;

type Pair = readonly [number, number];

/** Runs both side by side. A state of the pair may be NOWHERE, and stays there. */
function combine(
  [a, b]: readonly [Automaton, Automaton],
  decide: (inA: boolean, inB: boolean) => boolean,
  work: Work,
): Automaton {
  const { letters, spellings } = spell([a, b], work);
  const [rowsA = [], rowsB = []] = spellings;
  const canAccept = ([inA, inB]: Pair): boolean => {
    const [stillA, stillB] = [inA !== NOWHERE, inB !== NOWHERE];
    return decide(stillA, stillB) || decide(stillA, false) || decide(false, stillB);
  };
  const table = explore<Pair>({
    letters,
    work,
    start: [a.start, b.start],
    keyOf: ([inA, inB]) => inA * (rowsB.length + 1) + inB + 1,
    accepts: ([inA, inB]) => decide(rowsA[inA]?.accepts ?? false, rowsB[inB]?.accepts ?? false),
    step: ([inA, inB]) =>
      letters.map((_, letter) => {
        const pair: Pair = [rowsA[inA]?.next[letter] ?? NOWHERE, rowsB[inB]?.next[letter] ?? NOWHERE];
        return canAccept(pair) ? pair : undefined;
      }),
  });
  return fromTable(table, work);
}

/** Several automata over the same letters. */
function spell(
  automata: readonly Automaton[],
  work: Work,
): {
  readonly letters: readonly CharacterSet[];
  readonly spellings: readonly (readonly Row[])[];
} {
  const sets: CharacterSet[] = [];
  const numbers = new Map<string, number>();
  const numberOf = (moves: readonly Move[]): number => {
    const key = moves.map(({ from, to }) => `${from}-${to}`).join();
    let number = numbers.get(key);
    if (number === undefined) numbers.set(key, (number = sets.push(moves) - 1));
    return number;
  };
  const sketches = automata.map(({ states }) =>
    states.map(({ accepts: isEnd, moves }) => ({
      isEnd,
      leads: [...Map.groupBy(moves, ({ state }) => state)].map(([state, group]) => ({ state, set: numberOf(group) })),
    })),
  );
  for (const { states } of automata) for (const { moves } of states) work.add(STEPS_PER_MOVE * moves.length);
  const { letters, spelt } = toLetters(sets, work);
  const spellings = sketches.map((rows) =>
    rows.map(({ isEnd, leads }) => {
      const next = letters.map(() => NOWHERE);
      for (const { state, set } of leads) for (const letter of spelt[set] ?? []) next[letter] = state;
      return { accepts: isEnd, next };
    }),
  );
  return { letters, spellings };
}
