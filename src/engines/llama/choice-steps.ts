import { createChoiceOutput, type ChoiceEnd, type PhaseEnd, type SampledToken } from '../choice-output.ts';
import type { GenerationJob, JobChoice, RunningChoice } from './job.ts';
import type { KvCache } from './kv-cache.ts';
import type { NativeModel } from './native-model.ts';
import type { LineLogprob } from './protocol.ts';
import { createPhaseSampler } from './sampling.ts';
import { createTokenDrafter } from './token-drafter.ts';
import { tokenizeSegments } from './tokenize-input.ts';

/** The model that choices run on, and the cells of its sequences. */
export interface ChoiceDeps {
  readonly model: NativeModel;
  readonly cells: Pick<KvCache, 'truncate'>;
}

/** @param baseSeed Seed of the first choice of the job; each further choice adds its index. */
export function createJobChoice(
  model: NativeModel,
  job: GenerationJob,
  { index, baseSeed }: { readonly index: number; readonly baseSeed: number },
): JobChoice {
  const seed = (baseSeed + index) >>> 0;
  return {
    job,
    index,
    slot: undefined,
    slotChangedAt: 0,
    paused: undefined,
    keepsSlotUntil: 0,
    seed,
    output: createChoiceOutput<LineLogprob>(job.call, {
      triggers: job.triggers,
      onDelta: (delta) => job.lines.push({ type: 'token', choice: index, ...delta }),
    }),
    sampler: createPhaseSampler(model, job, { seed, phase: 0, history: [] }),
    drafter: createTokenDrafter(),
    pending: [],
    sampledTokens: [],
    phaseStart: job.prompt.length,
    phaseTokens: [],
    isFinished: false,
  };
}

/**
 * Applies a sampled token to its choice: the choice continues, starts its next phase, or finishes.
 * @returns whether the token itself is what the choice evaluates next.
 */
export function applyToken(deps: ChoiceDeps, choice: RunningChoice, token: SampledToken<LineLogprob>): boolean {
  if (!token.isEndToken) {
    choice.sampledTokens.push(token.id);
    choice.phaseTokens.push(token.id);
  }
  const result = choice.output.push(token);
  switch (result.type) {
    case 'more':
      // The context limits prompt and answer together, including the last token.
      if (choice.slot.tokens.length + 1 < deps.model.loaded.contextTokens) {
        choice.pending = [token.id];
        return true;
      }
      finishChoice(choice, choice.output.finishAtContextLimit());
      return false;
    case 'finished':
      finishChoice(choice, result);
      return false;
    case 'phase-end':
      startNextPhase(deps, choice, result);
      return false;
  }
}

function startNextPhase(
  { model, cells }: ChoiceDeps,
  choice: RunningChoice,
  { keepTokens, keepText, append }: PhaseEnd,
): void {
  const { slot, job, output } = choice;
  const keepLength = choice.phaseStart + keepTokens;
  const context = [
    ...slot.tokens.slice(0, choice.phaseStart),
    ...choice.phaseTokens.slice(0, keepTokens),
    ...tokenizeSegments(model, [{ text: keepText, special: false }, ...append]),
  ];
  // At least one token must be evaluated: its logits determine the first token of the phase.
  const keptTokens = Math.min(slot.tokens.length, keepLength, context.length - 1);
  if (keptTokens < slot.tokens.length) cells.truncate(slot, keptTokens);
  choice.pending = context.slice(slot.tokens.length);
  choice.phaseStart = context.length;
  choice.phaseTokens = [];
  const sampler = createPhaseSampler(model, job, {
    seed: choice.seed,
    phase: output.phase,
    history: choice.sampledTokens,
  });
  choice.sampler.dispose();
  choice.sampler = sampler;
  if (context.length >= model.loaded.contextTokens) finishChoice(choice, { reason: 'length' });
}

export function finishChoice(choice: JobChoice, { reason, stop }: Omit<ChoiceEnd, 'type'>): void {
  choice.isFinished = true;
  choice.pending = [];
  choice.job.lines.push({
    type: 'choice-finished',
    choice: choice.index,
    reason,
    ...(stop === undefined ? {} : { stop }),
  });
}
