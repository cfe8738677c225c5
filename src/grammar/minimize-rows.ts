import { NO_STATE, type TransitionRow } from './explore-states.ts';

/**
 * Minimizes an automaton: merges equivalent states, removes dead ones, and numbers the states in order of discovery.
 */
export function minimizeRows(rows: readonly TransitionRow[]): readonly TransitionRow[] {
  const live = removeDeadStates(rows);
  const blocks = partitionStates(live);
  const numbers = new Map<number, number>();
  const members: number[] = [];
  const getBlockNumber = (state: number): number => {
    const block = blocks[state] ?? NO_STATE;
    let number = numbers.get(block);
    if (number === undefined) numbers.set(block, (number = members.push(state) - 1));
    return number;
  };
  getBlockNumber(0);
  const minimalRows: TransitionRow[] = [];
  // The loop adds states to the list while it iterates.
  for (const state of members) {
    const row = live[state];
    if (row === undefined) continue;
    const next = row.next.map((target) => (target === NO_STATE ? NO_STATE : getBlockNumber(target)));
    minimalRows.push({ accepts: row.accepts, next });
  }
  return minimalRows;
}

/** Removes transitions to states from which nothing is accepted. */
function removeDeadStates(rows: readonly TransitionRow[]): readonly TransitionRow[] {
  const sources = findSources(rows);
  const isLive = rows.map((row) => row.accepts);
  const found = [...rows.keys()].filter((state) => isLive[state]);
  // The loop adds states to the list while it iterates.
  for (const state of found) {
    for (const source of sources[state] ?? []) {
      if (isLive[source]) continue;
      isLive[source] = true;
      found.push(source);
    }
  }
  return rows.map(({ accepts, next }) => ({ accepts, next: next.map((to) => (isLive[to] ? to : NO_STATE)) }));
}

/**
 * Returns the block of equivalent states that each state belongs to (Hopcroft's partition refinement). Blocks are split
 * until the states of a block have the same targets. The largest part keeps the block's number, so that a state changes
 * its block at most log2(states) times; only states with a transition to a moved state (dirty states) are compared
 * again.
 */
function partitionStates(rows: readonly TransitionRow[]): readonly number[] {
  const sources = findSources(rows);
  const blocks: number[] = rows.map((row) => (row.accepts ? 1 : 0));
  const members = [0, 1].map((block) => new Set([...rows.keys()].filter((state) => blocks[state] === block)));
  const dirty = new Map(members.map((states, block) => [block, new Set(states)]));
  // The loop changes the map while it iterates; a removed block may be added again.
  for (const [block, states] of dirty) {
    dirty.delete(block);
    for (const part of findSplitParts(members[block] ?? new Set(), states)) moveOut(part, block);
  }
  return blocks;

  /** Returns all parts of a block except the largest. The time depends on the number of dirty states only. */
  function findSplitParts(all: ReadonlySet<number>, states: ReadonlySet<number>): readonly (readonly number[])[] {
    const bySignature = Map.groupBy(states, createSignature);
    // States that are not dirty still have equal targets: one of them represents the others.
    const rest = all.values().filter((state) => !states.has(state));
    const example = rest.next();
    let alike: readonly number[] = [];
    if (!example.done) {
      const signature = createSignature(example.value);
      alike = bySignature.get(signature) ?? [];
      bySignature.delete(signature);
    }
    const parts = [...bySignature.values()].toSorted((a, b) => b.length - a.length);
    const [largest = []] = parts;
    if (example.done || all.size - states.size + alike.length < largest.length) {
      const others = example.done ? [] : [[example.value, ...rest, ...alike]];
      return [...parts.slice(1), ...others];
    }
    return parts;
  }

  function moveOut(part: readonly number[], from: number): void {
    const block = members.push(new Set(part)) - 1;
    for (const state of part) {
      members[from]?.delete(state);
      blocks[state] = block;
      if (dirty.get(from)?.delete(state)) markDirty(state);
    }
    for (const state of part) for (const source of sources[state] ?? []) markDirty(source);
  }

  function markDirty(state: number): void {
    const block = blocks[state] ?? 0;
    const states = dirty.get(block);
    if (states === undefined) dirty.set(block, new Set([state]));
    else states.add(state);
  }

  function createSignature(state: number): string {
    return (rows[state]?.next ?? []).map((to) => blocks[to] ?? NO_STATE).join();
  }
}

function findSources(rows: readonly TransitionRow[]): readonly (readonly number[])[] {
  const sources = rows.map(() => new Set<number>());
  for (const [state, { next }] of rows.entries()) for (const to of next) sources[to]?.add(state);
  return sources.map((set) => [...set]);
}
