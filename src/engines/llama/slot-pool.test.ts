import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createSlotPool, SEEDED_SLICE_TOKENS, type SlotPool } from './slot-pool.ts';

const range = (length: number, first = 0): number[] => Array.from({ length }, (_, i) => first + i);
/** A run without a fixed seed: it may reuse tokens of any run of its workspace. */
const UNSEEDED_RUN = { workspace: 'w', isSeeded: false };

/** Adds a free slot with the tokens of a finished run. */
const addUsedSlot = (slots: SlotPool, tokens: readonly number[], { workspace = 'w', seededTokens = 0 } = {}) => {
  const slot = slots.findFree();
  assert.ok(slot);
  slots.acquire(slot, workspace);
  slot.tokens = [...tokens];
  slot.seededTokens = seededTokens;
  slots.release(slot);
  return slot;
};

describe('createSlotPool', () => {
  it('plans the slot with the longest common prefix if most of its content is kept', () => {
    const slots = createSlotPool(4);
    addUsedSlot(slots, range(10, 500));
    const long = addUsedSlot(slots, range(100));
    const plan = slots.planReuse(range(80), UNSEEDED_RUN);
    assert.equal(plan?.slot, long);
    assert.equal(plan?.reusedTokens, 79, 'one token is left to evaluate');
    assert.equal(plan?.copyFrom, undefined);
  });

  it('plans another slot and a copy if most of a conversation would be discarded', () => {
    const slots = createSlotPool(2);
    const long = addUsedSlot(slots, range(200));
    const plan = slots.planReuse([...range(70), 9999], UNSEEDED_RUN);
    assert.notEqual(plan?.slot, long);
    assert.equal(plan?.copyFrom, long);
    assert.equal(plan?.reusedTokens, 70);
  });

  it('plans an empty start if the common prefix is not worth a copy', () => {
    const slots = createSlotPool(3);
    const long = addUsedSlot(slots, range(200));
    const tiny = slots.planReuse([...range(5), 9999], UNSEEDED_RUN);
    assert.notEqual(tiny?.slot, long);
    assert.deepEqual([tiny?.reusedTokens, tiny?.copyFrom], [0, undefined]);
    // A copy moves the whole source: for a short common prefix of a long source it costs more than it saves.
    const huge = addUsedSlot(slots, range(4000, 10_000));
    assert.equal(slots.planReuse([...range(20, 10_000), 9999], UNSEEDED_RUN)?.copyFrom, undefined);
    assert.equal(slots.planReuse([...range(100, 10_000), 9999], UNSEEDED_RUN)?.copyFrom, huge);
  });

  it('plans the last free slot whatever it holds, and keeps the common prefix', () => {
    const slots = createSlotPool(1);
    addUsedSlot(slots, range(200));
    assert.equal(slots.planReuse([...range(20), 9999], UNSEEDED_RUN)?.reusedTokens, 20);
  });

  it('plans a slot as long as one is free', () => {
    const slots = createSlotPool(1);
    const slot = slots.findFree();
    assert.ok(slot);
    slots.acquire(slot, 'w');
    assert.equal(slots.planReuse(range(5), UNSEEDED_RUN), undefined);
    assert.equal(slots.findFree(), undefined);
    assert.equal(slots.freeCount, 0);
    assert.throws(() => slots.acquire(slot, 'w'), /busy/);
  });

  it('findFree returns empty slots first, then the least recently used one', () => {
    const slots = createSlotPool(3);
    const first = addUsedSlot(slots, range(10));
    const second = addUsedSlot(slots, range(10, 100));
    const empty = slots.findFree();
    assert.ok(empty && empty !== first && empty !== second);
    addUsedSlot(slots, range(10, 200));
    assert.equal(slots.findFree(), first);
  });

  it('findFree prefers slots next to a busy one, because neighbors are evaluated together', () => {
    const slots = createSlotPool(4);
    const [first, second, third, fourth] = slots.all;
    for (const slot of slots.all) addUsedSlot(slots, range(10, 100 * slot.sequence));
    assert.ok(first && second && third && fourth);
    slots.acquire(third, 'w');
    assert.equal(slots.findFree(), second);
    slots.acquire(second, 'w');
    assert.equal(slots.findFree(), first);
  });
});

describe('planReuse', () => {
  const runs = fc.record({
    workspace: fc.constantFrom('a', 'b'),
    tokens: fc.array(fc.constantFrom(1, 2), { maxLength: 120 }),
    seeded: fc.nat({ max: 7 }),
    isBusy: fc.boolean(),
  });

  it('never crosses workspaces, reuses only a common prefix, and leaves a token to evaluate', () => {
    const prompts = fc.array(fc.constantFrom(1, 2), { minLength: 1, maxLength: 120 });
    fc.assert(
      fc.property(fc.array(runs, { maxLength: 5 }), prompts, fc.boolean(), (before, prompt, isSeeded) => {
        const slots = createSlotPool(5);
        for (const { workspace, tokens, seeded, isBusy } of before) {
          const slot = slots.findFree();
          if (!slot) continue;
          slots.acquire(slot, workspace);
          slot.tokens = tokens;
          const seededTokens = Math.min(seeded * SEEDED_SLICE_TOKENS, tokens.length);
          slot.seededTokens = seededTokens - (seededTokens % SEEDED_SLICE_TOKENS);
          if (!isBusy) slots.release(slot);
        }
        const plan = slots.planReuse(prompt, { workspace: 'a', isSeeded });
        if (!plan) return assert.equal(slots.freeCount, 0);
        assert.equal(plan.slot.isBusy, false);
        assert.ok(plan.reusedTokens < prompt.length);
        if (plan.reusedTokens === 0) return;
        const from = plan.copyFrom ?? plan.slot;
        assert.equal(from.workspace, 'a');
        assert.deepEqual(from.tokens.slice(0, plan.reusedTokens), prompt.slice(0, plan.reusedTokens));
        if (isSeeded) {
          assert.equal(plan.reusedTokens % SEEDED_SLICE_TOKENS, 0);
          assert.ok(plan.reusedTokens <= from.seededTokens);
        }
      }),
    );
  });
});
