import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createSlots } from './slots.ts';
import type { Slots } from './slots.ts';

const range = (length: number, first = 0): number[] => Array.from({ length }, (_, i) => first + i);
const plainRun = { workspace: 'w', isSeeded: false };

/** What a run leaves: a sequence with these tokens, free again. */
const used = (slots: Slots, tokens: readonly number[], { workspace = 'w', seededTokens = 0 } = {}) => {
  const slot = slots.take();
  assert.ok(slot);
  slots.hold(slot, workspace);
  slot.tokens = [...tokens];
  slot.seededTokens = seededTokens;
  slots.release(slot);
  return slot;
};

describe('a place for a prompt', () => {
  it('is the sequence with the longest common beginning, where most of it is kept', () => {
    const slots = createSlots(4);
    used(slots, range(10, 500));
    const long = used(slots, range(100));
    const plan = slots.plan(range(80), plainRun);
    assert.equal(plan?.slot, long);
    assert.equal(plan?.reused, 79, 'one token is left to evaluate');
    assert.equal(plan?.copyFrom, undefined);
  });

  it('is another one, with a copy, where most of a conversation would be thrown away', () => {
    const slots = createSlots(2);
    const long = used(slots, range(200));
    const plan = slots.plan([...range(70), 9999], plainRun);
    assert.notEqual(plan?.slot, long);
    assert.equal(plan?.copyFrom, long);
    assert.equal(plan?.reused, 70);
  });

  it('starts anew where the shared beginning is not worth a copy', () => {
    const slots = createSlots(3);
    const long = used(slots, range(200));
    const tiny = slots.plan([...range(5), 9999], plainRun);
    assert.notEqual(tiny?.slot, long);
    assert.deepEqual([tiny?.reused, tiny?.copyFrom], [0, undefined]);
    // The whole source is moved: a long one for a short beginning costs more than it saves.
    const huge = used(slots, range(4000, 10_000));
    assert.equal(slots.plan([...range(20, 10_000), 9999], plainRun)?.copyFrom, undefined);
    assert.equal(slots.plan([...range(100, 10_000), 9999], plainRun)?.copyFrom, huge);
  });

  it('takes the last free sequence whatever it holds, and keeps its beginning', () => {
    const slots = createSlots(1);
    used(slots, range(200));
    assert.equal(slots.plan([...range(20), 9999], plainRun)?.reused, 20);
  });

  it('is there as long as a sequence is free', () => {
    const slots = createSlots(1);
    const slot = slots.take();
    assert.ok(slot);
    slots.hold(slot, 'w');
    assert.equal(slots.plan(range(5), plainRun), undefined);
    assert.equal(slots.take(), undefined);
    assert.equal(slots.free, 0);
    assert.throws(() => slots.hold(slot, 'w'), /busy/);
  });

  it('that is given up is the empty one, then the one unused for longest', () => {
    const slots = createSlots(3);
    const first = used(slots, range(10));
    const second = used(slots, range(10, 100));
    const empty = slots.take();
    assert.ok(empty && empty !== first && empty !== second);
    used(slots, range(10, 200));
    assert.equal(slots.take(), first);
  });

  it('that is given up lies beside a busy one, so that both share a pass over the weights', () => {
    const slots = createSlots(4);
    const [first, second, third, fourth] = slots.all;
    for (const slot of slots.all) used(slots, range(10, 100 * slot.sequence));
    assert.ok(first && second && third && fourth);
    slots.hold(third, 'w');
    assert.equal(slots.take(), second);
    slots.hold(second, 'w');
    assert.equal(slots.take(), first);
  });
});

describe('reuse', () => {
  const runs = fc.record({
    workspace: fc.constantFrom('a', 'b'),
    tokens: fc.array(fc.constantFrom(1, 2), { maxLength: 120 }),
    seeded: fc.nat({ max: 7 }),
    isBusy: fc.boolean(),
  });

  it('never crosses workspaces, is truly a common beginning, and leaves a token to evaluate', () => {
    const prompts = fc.array(fc.constantFrom(1, 2), { minLength: 1, maxLength: 120 });
    fc.assert(
      fc.property(fc.array(runs, { maxLength: 5 }), prompts, fc.boolean(), (before, prompt, isSeeded) => {
        const slots = createSlots(5);
        for (const { workspace, tokens, seeded, isBusy } of before) {
          const slot = slots.take();
          if (!slot) continue;
          slots.hold(slot, workspace);
          slot.tokens = tokens;
          slot.seededTokens = Math.min(seeded * 16, tokens.length - (tokens.length % 16));
          if (!isBusy) slots.release(slot);
        }
        const plan = slots.plan(prompt, { workspace: 'a', isSeeded });
        if (!plan) return assert.equal(slots.free, 0);
        assert.equal(plan.slot.isBusy, false);
        assert.ok(plan.reused < prompt.length);
        if (plan.reused === 0) return;
        const from = plan.copyFrom ?? plan.slot;
        assert.equal(from.workspace, 'a');
        assert.deepEqual(from.tokens.slice(0, plan.reused), prompt.slice(0, plan.reused));
        if (isSeeded) {
          assert.equal(plan.reused % 16, 0);
          assert.ok(plan.reused <= from.seededTokens);
        }
      }),
    );
  });
});
