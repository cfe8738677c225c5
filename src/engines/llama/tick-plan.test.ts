import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BACKGROUND_SLICE_EVERY, LIVE_SLICE_EVERY } from '../../core/limits.ts';
import type { Choice, Job } from './job.ts';
import type { Step } from './tick-plan.ts';
import { planTick } from './tick-plan.ts';

const SLICE = 8;

/** A choice with so many tokens to be evaluated; the plan looks at nothing else of it. */
function choiceOf(
  pending: number,
  how: { readonly isBehind?: boolean; readonly isReserved?: boolean; readonly isSeeded?: boolean } = {},
): Choice {
  const job: Pick<Job, 'call' | 'isSeeded' | 'cacheWish'> = {
    call: {
      id: 'r',
      owner: {
        workspace: 'w',
        key: 'k',
        ...(how.isBehind ? { priority: 'background' as const } : {}),
        ...(how.isReserved ? { priority: 'reserved' as const } : {}),
      },
      input: { type: 'tokens', tokens: [] },
      sampling: {},
      stop: { strings: [], tokens: [] },
      choices: 1,
      phases: [],
    },
    isSeeded: how.isSeeded ?? false,
    cacheWish: undefined,
  };
  return { job, pending: Array.from({ length: pending }, () => 1), slot: { tokens: [] } } as unknown as Choice;
}

const plan = (ready: readonly Choice[], turn: number) => planTick(ready, { turn, sliceTokens: () => SLICE });
const tokensOf = (steps: readonly Step[], choice: Choice): number =>
  steps.find((step) => step.choice === choice)?.tokens ?? 0;

describe('the plan of a tick', () => {
  it('has a step for everybody who generates, whatever the priority', () => {
    const generating = [choiceOf(1), choiceOf(1, { isBehind: true })];
    const { shared } = plan([...generating, choiceOf(100)], 1);
    for (const choice of generating) assert.equal(tokensOf(shared, choice), 1);
  });

  it('gives the slice of prefill to live prompts, and what they leave to background ones', () => {
    const behind = choiceOf(100, { isBehind: true });
    const long = choiceOf(100);
    assert.deepEqual(tokensOf(plan([behind, long], 1).shared, long), SLICE);
    assert.equal(tokensOf(plan([behind, long], 1).shared, behind), 0);
    const short = choiceOf(3);
    const { shared } = plan([behind, short], 1);
    assert.deepEqual([tokensOf(shared, short), tokensOf(shared, behind)], [3, SLICE - 3]);
  });

  it('lets a background prompt advance for ever so slowly beside live ones, and fully without any', () => {
    const behind = choiceOf(100, { isBehind: true });
    const live = [choiceOf(100), choiceOf(100), choiceOf(100, { isSeeded: true })];
    const turns = Array.from({ length: 4 * BACKGROUND_SLICE_EVERY }, (_, turn) => turn + 1);
    const advanced = turns.filter((turn) => tokensOf(plan([behind, ...live], turn).shared, behind) > 0);
    assert.equal(advanced.length, 4);
    for (const turn of turns) assert.equal(tokensOf(plan([behind], turn).shared, behind), SLICE);
  });

  it('gives the slice to reserved prompts first, beside which live ones advance more slowly, but do', () => {
    const reserved = choiceOf(100, { isReserved: true });
    const live = choiceOf(100);
    const behind = choiceOf(100, { isBehind: true });
    const turns = Array.from({ length: LIVE_SLICE_EVERY * BACKGROUND_SLICE_EVERY * 2 }, (_, turn) => turn + 1);
    const sharesOf = (ready: readonly Choice[], of: Choice): number =>
      turns.filter((turn) => tokensOf(plan(ready, turn).shared, of) === SLICE).length / turns.length;
    assert.equal(sharesOf([live, reserved], live), 1 / LIVE_SLICE_EVERY);
    assert.equal(sharesOf([live, reserved], reserved), 1 - 1 / LIVE_SLICE_EVERY);
    assert.equal(sharesOf([behind, reserved], behind), 1 / BACKGROUND_SLICE_EVERY);
    const all = [behind, live, reserved];
    assert.equal(sharesOf(all, live), 1 / LIVE_SLICE_EVERY);
    assert.equal(sharesOf(all, behind), 1 / BACKGROUND_SLICE_EVERY);
    assert.equal(sharesOf(all, reserved), 1 - 1 / LIVE_SLICE_EVERY - 1 / BACKGROUND_SLICE_EVERY);
  });

  it('goes round all prompts of either kind, however many there are', () => {
    const count = BACKGROUND_SLICE_EVERY;
    const live = Array.from({ length: count }, () => choiceOf(100, { isSeeded: true }));
    const behind = Array.from({ length: count }, () => choiceOf(100, { isBehind: true, isSeeded: true }));
    const seen = new Map<Choice, number>();
    for (let turn = 1; turn <= count * BACKGROUND_SLICE_EVERY; turn++)
      for (const { choice } of plan([...behind, ...live], turn).alone) seen.set(choice, (seen.get(choice) ?? 0) + 1);
    for (const choice of behind) assert.equal(seen.get(choice), 1);
    for (const choice of live) assert.equal(seen.get(choice), BACKGROUND_SLICE_EVERY - 1);
  });
});
