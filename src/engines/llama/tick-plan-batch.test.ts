import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createDecodeItem, markEvaluated, orderSteps, type EvaluationStep } from './tick-plan.ts';
import type { GenerationJob, RunningChoice } from './job.ts';

/** A step with only the members that a batch reads. */
const createStep = (sequence: number, tokens: number, choice: Partial<RunningChoice> = {}): EvaluationStep => ({
  choice: {
    slot: { sequence, tokens: [1, 2] },
    pending: [3, 4, 5],
    isFinished: false,
    job: { call: {} },
    ...choice,
  } as RunningChoice,
  tokens,
});

describe('a decode batch', () => {
  it('has the running choices in the order of their sequences', () => {
    const steps = [createStep(2, 1), createStep(0, 1), createStep(1, 1, { isFinished: true })];
    assert.deepEqual(
      orderSteps(steps).map(({ choice }) => choice.slot.sequence),
      [0, 2],
    );
  });

  it('continues each sequence, and wants logits after the last pending token only', () => {
    const item = { sequence: 1, position: 2 };
    assert.deepEqual(createDecodeItem(createStep(1, 2)), { ...item, tokens: [3, 4], logits: 'none' });
    assert.deepEqual(createDecodeItem(createStep(1, 3)), { ...item, tokens: [3, 4, 5], logits: 'last' });
  });

  it('wants all logits of a prompt whose log probabilities are requested', () => {
    const call = { promptLogprobs: { top: 0 } };
    const createPromptStep = (isPromptEvaluated: boolean) =>
      createStep(1, 2, { job: { call, isPromptEvaluated } as unknown as GenerationJob });
    assert.equal(createDecodeItem(createPromptStep(false)).logits, 'all');
    assert.equal(createDecodeItem(createPromptStep(true)).logits, 'none');
  });

  it('moves evaluated tokens from the choice to its sequence', () => {
    const { choice } = createStep(1, 2);
    markEvaluated(choice, 2);
    assert.deepEqual([choice.slot.tokens, choice.pending], [[1, 2, 3, 4], [5]]);
  });
});
