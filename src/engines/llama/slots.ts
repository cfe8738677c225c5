import { assert } from '../../lib/assert.ts';

/** Tokens a seeded run evaluates at a time: the same slices give the same cells, to the last bit. */
export const SEEDED_SLICE_TOKENS = 16;

/** A shared prefix shorter than this is computed again rather than copied: a copy has a fixed cost of about 2 ms. */
const COPY_TOKENS_MIN = 8;

/** A copy moves the whole source at about 0.1 ms a token; computing costs about a hundred times as much. */
const COPY_SOURCE_MAX_RATIO = 64;

/** A sequence of the context and what its cells hold. */
export interface Slot {
  readonly sequence: number;
  /** What has been evaluated, in order. */
  tokens: number[];
  /** Whose tokens they are; nobody else may reuse them. */
  workspace: string;
  /** Leading tokens that a seeded run evaluated in its own slices, alone in the batch. */
  seededTokens: number;
  isBusy: boolean;
  usedAt: number;
}

export interface SlotPlan {
  readonly slot: Slot;
  /** Tokens at the front of the prompt that are in the cells already. */
  readonly reused: number;
  /** Where they come from, when that is another sequence. */
  readonly copyFrom?: Slot;
}

export interface Slots {
  readonly free: number;
  /** The best place for a prompt; undefined when all sequences are busy. Marks nothing. */
  plan(prompt: readonly number[], run: { workspace: string; isSeeded: boolean }): SlotPlan | undefined;
  /** A further free sequence, the one least worth keeping. */
  take(): Slot | undefined;
  hold(slot: Slot, workspace: string): void;
  release(slot: Slot): void;
  readonly all: readonly Slot[];
}

export function createSlots(count: number): Slots {
  const all: Slot[] = Array.from({ length: count }, (_, sequence) => ({
    sequence,
    tokens: [],
    workspace: '',
    seededTokens: 0,
    isBusy: false,
    usedAt: 0,
  }));
  let uses = 0;

  /** Next to a busy one if there is one (neighbours share a pass over the weights), then empty, then longest unused. */
  const leastWorth = (): Slot | undefined => {
    const isAnyBusy = all.some((slot) => slot.isBusy);
    const isApart = (slot: Slot): boolean =>
      isAnyBusy && !all[slot.sequence - 1]?.isBusy && !all[slot.sequence + 1]?.isBusy;
    return all
      .filter((slot) => !slot.isBusy)
      .toSorted(
        (a, b) =>
          Number(isApart(a)) - Number(isApart(b)) ||
          Number(a.tokens.length > 0) - Number(b.tokens.length > 0) ||
          a.usedAt - b.usedAt,
      )[0];
  };

  return {
    all,
    get free() {
      return all.reduce((sum, slot) => sum + Number(!slot.isBusy), 0);
    },
    plan(prompt, { workspace, isSeeded }) {
      const spare = leastWorth();
      if (!spare) return undefined;
      let best: { slot: Slot; reused: number } | undefined;
      for (const slot of all) {
        if (slot.workspace !== workspace) continue;
        const reused = reusableTokens(slot, prompt, isSeeded);
        if (!best || reused > best.reused || (reused === best.reused && best.slot.isBusy && !slot.isBusy))
          best = { slot, reused };
      }
      if (!best || best.reused === 0) return { slot: spare, reused: 0 };
      const isMostlyKept = best.reused * 2 >= best.slot.tokens.length;
      if (!best.slot.isBusy && (isMostlyKept || best.slot === spare)) return { slot: best.slot, reused: best.reused };
      // Taking it would throw most of another conversation away (or it is busy): copy what is shared.
      const isWorthCopying =
        best.reused >= COPY_TOKENS_MIN && best.reused * COPY_SOURCE_MAX_RATIO >= best.slot.tokens.length;
      return isWorthCopying ? { slot: spare, reused: best.reused, copyFrom: best.slot } : { slot: spare, reused: 0 };
    },
    take: leastWorth,
    hold(slot, workspace) {
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

/** At least one token of the prompt has to be evaluated: its logits choose the first token of the answer. */
function reusableTokens(slot: Slot, prompt: readonly number[], isSeeded: boolean): number {
  const most = Math.min(isSeeded ? slot.seededTokens : slot.tokens.length, slot.tokens.length, prompt.length - 1);
  let same = 0;
  while (same < most && slot.tokens[same] === prompt[same]) same++;
  return isSeeded ? Math.floor(same / SEEDED_SLICE_TOKENS) * SEEDED_SLICE_TOKENS : same;
}
