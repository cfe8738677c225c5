import { assert } from '../../lib/assert.ts';

/** Tokens that a seeded run evaluates at a time. Equal slices give equal cells, to the last bit. */
export const SEEDED_SLICE_TOKENS = 16;

/** Shorter common prefixes are evaluated again instead of copied: a copy has a fixed cost of about 2 ms. */
const COPY_TOKENS_MIN = 8;

/**
 * Limit for source length / reused length. A copy moves the whole source at 0.1 ms a token; evaluating takes 100 times
 * that.
 */
const COPY_SOURCE_MAX_RATIO = 64;

/** A sequence of the model's context, and the content of its KV cells. */
export interface Slot {
  readonly sequence: number;
  /** Tokens that have been evaluated, in order. */
  tokens: number[];
  /** Workspace that the tokens belong to; other workspaces must not reuse them. */
  workspace: string;
  /** Number of leading tokens that a seeded run evaluated in slices of its own, alone in the batch. */
  seededTokens: number;
  isBusy: boolean;
  usedAt: number;
}

export interface SlotPlan {
  readonly slot: Slot;
  /** Number of leading prompt tokens that are already in the cells. */
  readonly reusedTokens: number;
  /** Sequence to copy them from, if it is not the slot itself. */
  readonly copyFrom?: Slot;
}

export interface SlotPool {
  readonly freeCount: number;
  /** Returns the best slot for a prompt, or undefined if all are busy. Changes no state. */
  /**
   * Returns the best slot for a prompt, or undefined if all are busy. Changes no state.
   * @param run `isSeeded`: the run has a fixed seed and must give the same answer each time, so it reuses only tokens
   * that a seeded run evaluated.
   */
  planReuse(prompt: readonly number[], run: { workspace: string; isSeeded: boolean }): SlotPlan | undefined;
  findFree(): Slot | undefined;
  acquire(slot: Slot, workspace: string): void;
  release(slot: Slot): void;
  readonly all: readonly Slot[];
}

export function createSlotPool(count: number): SlotPool {
  const all: Slot[] = Array.from({ length: count }, (_, sequence) => ({
    sequence,
    tokens: [],
    workspace: '',
    seededTokens: 0,
    isBusy: false,
    usedAt: 0,
  }));
  let uses = 0;

  /** Prefers slots next to a busy one (neighbors share a pass over the weights), then empty ones, then the oldest. */
  const findLeastValuable = (): Slot | undefined => {
    const isAnyBusy = all.some((slot) => slot.isBusy);
    const isIsolated = (slot: Slot): boolean =>
      isAnyBusy && !all[slot.sequence - 1]?.isBusy && !all[slot.sequence + 1]?.isBusy;
    return all
      .filter((slot) => !slot.isBusy)
      .toSorted(
        (a, b) =>
          Number(isIsolated(a)) - Number(isIsolated(b)) ||
          Number(a.tokens.length > 0) - Number(b.tokens.length > 0) ||
          a.usedAt - b.usedAt,
      )[0];
  };

  return {
    all,
    get freeCount() {
      return all.reduce((sum, slot) => sum + Number(!slot.isBusy), 0);
    },
    planReuse(prompt, { workspace, isSeeded }) {
      const free = findLeastValuable();
      if (!free) return undefined;
      let best: { slot: Slot; reused: number } | undefined;
      for (const slot of all) {
        if (slot.workspace !== workspace) continue;
        const reusedTokens = reusableTokens(slot, prompt, isSeeded);
        if (!best || reusedTokens > best.reused || (reusedTokens === best.reused && best.slot.isBusy && !slot.isBusy))
          best = { slot, reused: reusedTokens };
      }
      if (!best || best.reused === 0) return { slot: free, reusedTokens: 0 };
      const keepsMost = best.reused * 2 >= best.slot.tokens.length;
      if (!best.slot.isBusy && (keepsMost || best.slot === free)) return { slot: best.slot, reusedTokens: best.reused };
      // Using the best slot would discard most of another conversation, or it is busy: copy the common prefix instead.
      const isWorthCopying =
        best.reused >= COPY_TOKENS_MIN && best.reused * COPY_SOURCE_MAX_RATIO >= best.slot.tokens.length;
      return isWorthCopying
        ? { slot: free, reusedTokens: best.reused, copyFrom: best.slot }
        : { slot: free, reusedTokens: 0 };
    },
    findFree: findLeastValuable,
    acquire(slot, workspace) {
      assert(!slot.isBusy, 'a busy sequence was given away');
      slot.isBusy = true;
      slot.workspace = workspace;
      slot.usedAt = ++uses;
    },
    release(slot) {
      slot.isBusy = false;
      slot.usedAt = ++uses;
    },
  };
}

/** Counts reusable tokens. At least one prompt token must be evaluated: its logits determine the first answer token. */
function reusableTokens(slot: Slot, prompt: readonly number[], isSeeded: boolean): number {
  const tokensMax = Math.min(isSeeded ? slot.seededTokens : slot.tokens.length, slot.tokens.length, prompt.length - 1);
  let matching = 0;
  while (matching < tokensMax && slot.tokens[matching] === prompt[matching]) matching++;
  return isSeeded ? Math.floor(matching / SEEDED_SLICE_TOKENS) * SEEDED_SLICE_TOKENS : matching;
}
