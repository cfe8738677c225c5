import type { JobChoice } from './job.ts';
import type { DecodeItem } from './native-model.ts';
import type { EvaluationStep } from './tick-plan.ts';

/**
 * Selects the steps of choices that still run, in ascending order of their sequences: the library evaluates adjacent
 * sequences in this order in one pass over the weights; other orders take more.
 */
export const orderSteps = (steps: readonly EvaluationStep[]): readonly EvaluationStep[] =>
  steps.filter(({ choice }) => !choice.isFinished).toSorted((a, b) => a.choice.slot.sequence - b.choice.slot.sequence);

/** Creates the library's item for one step. Only the last pending token of a choice needs logits. */
export const createDecodeItem = ({ choice: { slot, pending }, tokens }: EvaluationStep): DecodeItem => ({
  sequence: slot.sequence,
  position: slot.tokens.length,
  tokens: pending.slice(0, tokens),
  wantsLogits: tokens === pending.length,
});

/** Records that the library has evaluated the first pending tokens of a choice. */
export function markEvaluated({ slot, pending }: Pick<JobChoice, 'slot' | 'pending'>, tokens: number): void {
  for (const token of pending.splice(0, tokens)) slot.tokens.push(token);
}
