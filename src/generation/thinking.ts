import type { ModelEntry } from '../catalogue/model.ts';
import type { Phase, PromptSegment } from '../core/prompt.ts';
import type { GenerationRequest } from '../core/request.ts';
import type { LoadedModel, TextEngine } from '../engines/engine.ts';

/** How a request's thought is put to an engine that runs phases. */
export interface ThinkingPlan {
  /** Goes behind the prompt: the thought has begun. */
  readonly opening: readonly PromptSegment[];
  readonly phases: readonly Phase[];
}

const OPEN = '<think>';
const CLOSE = '</think>';

/** `high` is this share of the model's maximum, `max` all of it. Ours. */
const HIGH_EFFORT_SHARE = 0.5;

/** Ours: at most this share of the context is thought, so that an answer still fits. */
const CONTEXT_SHARE_MAX = 0.5;

/** Tokens of thought where neither caller nor catalogue says. Ours. */
const BUDGET_TOKENS_DEFAULT = 1024;

/**
 * A thought in a phase of its own: it ends with its mark, at the model's own end or with its budget, and in each case it is
 * closed alike before the answer begins. The same for models that were trained to think and for those that are led to it;
 * only that the marks of the former are tokens of their vocabulary.
 *
 * @returns undefined when nothing is to be thought, or the model or its engine cannot: the caller of this says so.
 */
export function planThinking(
  { thinking }: Pick<GenerationRequest, 'thinking'>,
  entry: ModelEntry,
  { capabilities }: Pick<TextEngine, 'capabilities'>,
  model: LoadedModel,
): ThinkingPlan | undefined {
  if (!thinking || !canThink(entry, capabilities)) return undefined;
  const mark = (text: string): PromptSegment => ({ text, special: model.specialTokens.includes(text) });
  const plain = (text: string): PromptSegment => ({ text, special: false });
  const tokens = Math.min(budgetOf(thinking, entry), Math.floor(model.contextTokens * CONTEXT_SHARE_MAX));
  return {
    opening: [mark(OPEN), plain('\n')],
    phases: [{ until: { text: CLOSE, tokens }, thenAppend: [plain('\n'), mark(CLOSE), plain('\n\n')] }, {}],
  };
}

/** A prompt engine needs phases; a chat engine thinks by itself if its model does. */
export const canThink = ({ abilities }: ModelEntry, { phases }: TextEngine['capabilities']): boolean =>
  abilities.thinking !== undefined && phases;

function budgetOf(wish: NonNullable<GenerationRequest['thinking']>, { maxThinkingTokens }: ModelEntry): number {
  const most = maxThinkingTokens ?? BUDGET_TOKENS_DEFAULT;
  const byEffort = wish.effort === 'high' ? Math.ceil(most * HIGH_EFFORT_SHARE) : most;
  return Math.max(1, wish.budgetTokens ?? byEffort);
}

/** An earlier answer as a model that is led to think would have written it. */
export const withThought = (thought: string, answer: string): string => `${OPEN}\n${thought}\n${CLOSE}\n\n${answer}`;
