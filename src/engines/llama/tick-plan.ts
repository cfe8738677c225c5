import type { Priority } from '../../core/context.ts';
import { BACKGROUND_SLICE_INTERVAL, LIVE_SLICE_INTERVAL, PROMPT_LOGPROBS_SLICE_TOKENS } from './limits.ts';
import { countTokensToNextMark } from './explicit-cache.ts';
import { isReadingPrompt, type RunningChoice } from './job.ts';
import { SEEDED_SLICE_TOKENS } from './slot-pool.ts';
import type { DecodeItem } from './native-model.ts';

/** The number of a choice's pending tokens to evaluate next. */
export interface EvaluationStep {
  readonly choice: RunningChoice;
  readonly tokens: number;
  /** Tokens that the model will probably sample next. They are evaluated with the pending token, and removed if it does not. */
  readonly draft?: readonly number[];
}

export interface TickLimits {
  readonly tick: number;
  readonly sliceTokens: (generating: number) => number;
  /** Most drafted tokens of a tick, which all its choices share. */
  readonly draftTokens: number;
  readonly contextTokens: number;
}

export interface TickPlan {
  /** Steps that are evaluated together in one batch. */
  readonly batched: readonly EvaluationStep[];
  /** Steps of seeded requests; each is a batch by itself. */
  readonly separate: readonly EvaluationStep[];
}

/**
 * Plans one tick: one generation step for every choice, and one slice of prefill. The slice goes either to one seeded
 * request, or to the unseeded requests, which share it. Slices rotate among the reserved prompts; among the live ones
 * if there is no reserved prompt, or every LIVE_SLICE_INTERVAL ticks; and among the background ones if there is no
 * other prompt, or every BACKGROUND_SLICE_INTERVAL ticks. Ticks without prefill evaluate drafts of unseeded requests.
 *
 * @param ready Choices with pending tokens: one token while generating, more during prefill.
 */
export function planTick(ready: readonly RunningChoice[], limits: TickLimits): TickPlan {
  const { tick, sliceTokens } = limits;
  const batched: EvaluationStep[] = [];
  const separate: EvaluationStep[] = [];
  const prompts: Record<Priority, RunningChoice[]> = { reserved: [], live: [], background: [] };
  for (const choice of ready) {
    if (choice.pending.length > 1) prompts[choice.job.call.owner.priority ?? 'live'].push(choice);
    else (choice.job.isSeeded ? separate : batched).push({ choice, tokens: 1 });
  }
  const order = orderPrompts(prompts, tick);
  const [first] = order;
  if (!first) return { batched: addDrafts(batched, limits), separate };
  if (first.job.isSeeded) {
    separate.push({ choice: first, tokens: Math.min(SEEDED_SLICE_TOKENS, first.pending.length) });
  } else {
    let remainingTokens = sliceTokens(batched.length);
    for (const choice of order.filter(({ job }) => !job.isSeeded)) {
      const tokensMax = isReadingPrompt(choice.job) ? PROMPT_LOGPROBS_SLICE_TOKENS : Infinity;
      const tokensToMark = countTokensToNextMark(choice.job, choice.slot);
      const tokens = Math.min(remainingTokens, tokensMax, choice.pending.length, tokensToMark);
      if (tokens > 0) batched.push({ choice, tokens });
      remainingTokens -= tokens;
    }
  }
  return { batched: batched, separate: separate };
}

/** Adds drafts to generation steps. */
function addDrafts(
  steps: readonly EvaluationStep[],
  { draftTokens, contextTokens }: TickLimits,
): readonly EvaluationStep[] {
  const share = Math.floor(draftTokens / Math.max(1, steps.length));
  return steps.map((step) => {
    const { job, slot, pending, drafter } = step.choice;
    const [last] = pending;
    const tokensMax = Math.min(share, contextTokens - slot.tokens.length - pending.length);
    // The last token of a prompt may stand alone, too.
    if (tokensMax <= 0 || last === undefined || !job.isPromptEvaluated) return step;
    const draft = drafter.draft(slot.tokens, last, tokensMax);
    return draft.length === 0 ? step : { ...step, draft };
  });
}

/** Orders the prompts of one tick. The slice belongs to the first; the others share what it leaves. */
function orderPrompts(
  prompts: Readonly<Record<Priority, readonly RunningChoice[]>>,
  tick: number,
): readonly RunningChoice[] {
  const { reserved, live, background } = prompts;
  const isLiveOwed = reserved.length > 0 && live.length > 0;
  const isBackgroundOwed = background.length > 0 && reserved.length + live.length > 0;
  // Each class counts its own ticks: by a common count, some prompt of a class might never come first.
  const backgroundTurn = isBackgroundOwed ? Math.floor(tick / BACKGROUND_SLICE_INTERVAL) : 0;
  // The offset keeps live slices away from the ticks of background slices.
  const liveTurn = isLiveOwed ? Math.floor((tick + LIVE_SLICE_INTERVAL - 1) / LIVE_SLICE_INTERVAL) : 0;
  const defaultTurn = tick - backgroundTurn - liveTurn;
  if (isBackgroundOwed && tick % BACKGROUND_SLICE_INTERVAL === 0)
    return [...rotate(background, backgroundTurn), ...reserved, ...live];
  if (isLiveOwed && tick % LIVE_SLICE_INTERVAL === 1) return [...rotate(live, liveTurn), ...reserved, ...background];
  const [first, ...others] = [reserved, live, background].filter((kind) => kind.length > 0);
  return [...rotate(first ?? [], defaultTurn), ...others.flat()];
}

const rotate = (choices: readonly RunningChoice[], steps: number): readonly RunningChoice[] => {
  const start = steps % Math.max(1, choices.length);
  return [...choices.slice(start), ...choices.slice(0, start)];
};

/**
 * Selects the steps of choices that still run, in ascending order of their sequences: the library evaluates adjacent
 * sequences in this order in one pass over the weights; other orders take more.
 */
export const orderSteps = (steps: readonly EvaluationStep[]): readonly EvaluationStep[] =>
  steps.filter(({ choice }) => !choice.isFinished).toSorted((a, b) => a.choice.slot.sequence - b.choice.slot.sequence);

/**
 * Creates the library's item for one step. Only the last pending token of a choice needs logits, and those after it: each
 * drafted token, and every token of a prompt whose log probabilities are requested.
 */
export const createDecodeItem = ({
  choice: { slot, pending, job },
  tokens,
  draft = [],
}: EvaluationStep): DecodeItem => ({
  sequence: slot.sequence,
  position: slot.tokens.length,
  tokens: [...pending.slice(0, tokens), ...draft],
  logits: isReadingPrompt(job) || draft.length > 0 ? 'all' : tokens === pending.length ? 'last' : 'none',
});

/** Records that the library has evaluated the first pending tokens of a choice. */
export function markEvaluated({ slot, pending }: Pick<RunningChoice, 'slot' | 'pending'>, tokens: number): void {
  for (const token of pending.splice(0, tokens)) slot.tokens.push(token);
}
