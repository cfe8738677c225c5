import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BACKGROUND_SLICE_INTERVAL, LIVE_SLICE_INTERVAL } from './limits.ts';
import type { RunningChoice, GenerationJob } from './job.ts';
import { planTick, type EvaluationStep } from './tick-plan.ts';

const SLICE = 8;

/** A choice with this number of pending tokens, and only the members that planTick reads. */
function createTestChoice(
  pending: number,
  options: { readonly isBackground?: boolean; readonly isReserved?: boolean; readonly isSeeded?: boolean } = {},
): RunningChoice {
  const job: Pick<GenerationJob, 'call' | 'isSeeded' | 'cacheRequest'> = {
    call: {
      id: 'r',
      owner: {
        workspace: 'w',
        key: 'k',
        ...(options.isBackground ? { priority: 'background' as const } : {}),
        ...(options.isReserved ? { priority: 'reserved' as const } : {}),
      },
      input: { type: 'tokens', tokens: [] },
      sampling: {},
      stop: { strings: [], tokens: [] },
      choices: 1,
      phases: [],
    },
    isSeeded: options.isSeeded ?? false,
    cacheRequest: undefined,
  };
  return { job, pending: Array.from({ length: pending }, () => 1), slot: { tokens: [] } } as unknown as RunningChoice;
}

const plan = (ready: readonly RunningChoice[], tick: number) =>
  planTick(ready, { tick: tick, sliceTokens: () => SLICE, draftTokens: 0, contextTokens: 512 });
const countTokens = (steps: readonly EvaluationStep[], choice: RunningChoice): number =>
  steps.find((step) => step.choice === choice)?.tokens ?? 0;

describe('planTick', () => {
  it('plans a step for every generating choice, whatever its priority', () => {
    const generating = [createTestChoice(1), createTestChoice(1, { isBackground: true })];
    const { batched } = plan([...generating, createTestChoice(100)], 1);
    for (const choice of generating) assert.equal(countTokens(batched, choice), 1);
  });

  it('gives the prefill slice to live prompts, and the rest of it to background prompts', () => {
    const background = createTestChoice(100, { isBackground: true });
    const long = createTestChoice(100);
    assert.deepEqual(countTokens(plan([background, long], 1).batched, long), SLICE);
    assert.equal(countTokens(plan([background, long], 1).batched, background), 0);
    const short = createTestChoice(3);
    const { batched } = plan([background, short], 1);
    assert.deepEqual([countTokens(batched, short), countTokens(batched, background)], [3, SLICE - 3]);
  });

  it('lets a background prompt advance slowly beside live ones, and fully without them', () => {
    const background = createTestChoice(100, { isBackground: true });
    const live = [createTestChoice(100), createTestChoice(100), createTestChoice(100, { isSeeded: true })];
    const ticks = Array.from({ length: 4 * BACKGROUND_SLICE_INTERVAL }, (_, tick) => tick + 1);
    const advanced = ticks.filter((tick) => countTokens(plan([background, ...live], tick).batched, background) > 0);
    assert.equal(advanced.length, 4);
    for (const tick of ticks) assert.equal(countTokens(plan([background], tick).batched, background), SLICE);
  });

  it('gives the slice to reserved prompts first, beside which live prompts advance slowly', () => {
    const reserved = createTestChoice(100, { isReserved: true });
    const live = createTestChoice(100);
    const background = createTestChoice(100, { isBackground: true });
    const ticks = Array.from({ length: LIVE_SLICE_INTERVAL * BACKGROUND_SLICE_INTERVAL * 2 }, (_, tick) => tick + 1);
    const getSliceShare = (ready: readonly RunningChoice[], of: RunningChoice): number =>
      ticks.filter((tick) => countTokens(plan(ready, tick).batched, of) === SLICE).length / ticks.length;
    assert.equal(getSliceShare([live, reserved], live), 1 / LIVE_SLICE_INTERVAL);
    assert.equal(getSliceShare([live, reserved], reserved), 1 - 1 / LIVE_SLICE_INTERVAL);
    assert.equal(getSliceShare([background, reserved], background), 1 / BACKGROUND_SLICE_INTERVAL);
    const all = [background, live, reserved];
    assert.equal(getSliceShare(all, live), 1 / LIVE_SLICE_INTERVAL);
    assert.equal(getSliceShare(all, background), 1 / BACKGROUND_SLICE_INTERVAL);
    assert.equal(getSliceShare(all, reserved), 1 - 1 / LIVE_SLICE_INTERVAL - 1 / BACKGROUND_SLICE_INTERVAL);
  });

  it('rotates through all prompts of a class, however many there are', () => {
    const count = BACKGROUND_SLICE_INTERVAL;
    const live = Array.from({ length: count }, () => createTestChoice(100, { isSeeded: true }));
    const background = Array.from({ length: count }, () =>
      createTestChoice(100, { isBackground: true, isSeeded: true }),
    );
    const seen = new Map<RunningChoice, number>();
    for (let tick = 1; tick <= count * BACKGROUND_SLICE_INTERVAL; tick++)
      for (const { choice } of plan([...background, ...live], tick).separate)
        seen.set(choice, (seen.get(choice) ?? 0) + 1);
    for (const choice of background) assert.equal(seen.get(choice), 1);
    for (const choice of live) assert.equal(seen.get(choice), BACKGROUND_SLICE_INTERVAL - 1);
  });
});
