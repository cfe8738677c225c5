import { NOWHERE, type Row } from './explore.ts';

/** The same language with as few states as there can be, numbered as they are met from the start, without dead ones. */
export function minimise(rows: readonly Row[]): readonly Row[] {
  const live = withoutDead(rows);
  const blocks = blocksOf(live);
  const numbers = new Map<number, number>();
  const members: number[] = [];
  const numberOf = (state: number): number => {
    const block = blocks[state] ?? NOWHERE;
    let number = numbers.get(block);
    if (number === undefined) numbers.set(block, (number = members.push(state) - 1));
    return number;
  };
  numberOf(0);
  const least: Row[] = [];
  // The list grows while it is read.
  for (const state of members) {
    const row = live[state];
    if (row === undefined) continue;
    const next = row.next.map((target) => (target === NOWHERE ? NOWHERE : numberOf(target)));
    least.push({ accepts: row.accepts, next });
  }
  return least;
}

/** Moves to states from which nothing is accepted lead nowhere. */
function withoutDead(rows: readonly Row[]): readonly Row[] {
  const sources = sourcesOf(rows);
  const isLive = rows.map((row) => row.accepts);
  const found = [...rows.keys()].filter((state) => isLive[state]);
  // The list grows while it is read.
  for (const state of found) {
    for (const source of sources[state] ?? []) {
      if (isLive[source]) continue;
      isLive[source] = true;
      found.push(source);
    }
  }
  return rows.map(({ accepts, next }) => ({ accepts, next: next.map((to) => (isLive[to] ? to : NOWHERE)) }));
}

/**
 * Of each state, the block of states equivalent to it. Blocks are split until the states of each agree on where they
 * lead. Of a block that is split, the largest part keeps its number, so that a state changes its block at most
 * log2(states) times, and only those who lead to it (the dirty ones) are looked at again.
 */
function blocksOf(rows: readonly Row[]): readonly number[] {
  const sources = sourcesOf(rows);
  const blocks: number[] = rows.map((row) => (row.accepts ? 1 : 0));
  const members = [0, 1].map((block) => new Set([...rows.keys()].filter((state) => blocks[state] === block)));
  const dirty = new Map(members.map((states, block) => [block, new Set(states)]));
  // The map grows while it is read; a block that was taken out may come again.
  for (const [block, states] of dirty) {
    dirty.delete(block);
    for (const part of leavers(members[block] ?? new Set(), states)) moveOut(part, block);
  }
  return blocks;

  /** All parts of a block but the largest. Takes time for its dirty states only. */
  function leavers(all: ReadonlySet<number>, states: ReadonlySet<number>): readonly (readonly number[])[] {
    const bySignature = Map.groupBy(states, signatureOf);
    // Those who are not dirty lead where they led before, all alike: one of them stands for the rest.
    const rest = all.values().filter((state) => !states.has(state));
    const example = rest.next();
    let alike: readonly number[] = [];
    if (!example.done) {
      const signature = signatureOf(example.value);
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

  function signatureOf(state: number): string {
    return (rows[state]?.next ?? []).map((to) => blocks[to] ?? NOWHERE).join();
  }
}

function sourcesOf(rows: readonly Row[]): readonly (readonly number[])[] {
  const sources = rows.map(() => new Set<number>());
  for (const [state, { next }] of rows.entries()) for (const to of next) sources[to]?.add(state);
  return sources.map((set) => [...set]);
}
