import type { ModelEntry } from '../catalogue/model.ts';
import type { Phase, PromptSegment } from '../core/prompt.ts';
import type { GenerationRequest } from '../core/request.ts';
import type { LoadedModel, TextEngine } from '../engines/engine.ts';

/** How a model writes a thought. */
export interface ThoughtMarks {
  readonly open: string;
  readonly close: string;
}

/** How a request's thought is put to an engine that runs phases. */
export interface ThinkingPlan {
  /** Goes behind the prompt: the thought has begun. */
  readonly opening: readonly PromptSegment[];
  /** Leads to what follows it, as the phase at position 1. */
  readonly phase: Phase;
  readonly marks: ThoughtMarks;
}

/** What the makers of models use; the first is also for models that are led to think. */
const USUAL: ThoughtMarks = { open: '<think>', close: '</think>' };
const OTHERS: readonly ThoughtMarks[] = [
  { open: '[THINK]', close: '[/THINK]' },
  { open: '<seed:think>', close: '</seed:think>' },
  { open: '<|START_THINKING|>', close: '<|END_THINKING|>' },
];

/** `high` is this share of the model's maximum, `max` all of it. Ours. */
const HIGH_EFFORT_SHARE = 0.5;

/** Ours: at most this share of the context is thought, so that an answer still fits. */
const CONTEXT_SHARE_MAX = 0.5;

/** Tokens of thought where neither caller nor catalogue says. Ours. */
const BUDGET_TOKENS_DEFAULT = 1024;

/**
 * A thought in a phase of its own: it ends with its mark, at the model's own end or with its budget, and in each case it is
 * closed alike before the answer begins. The same for models that were trained to think and for those that are led to it;
 * the former have a switch in their template, which may open the thought itself, and marks in their vocabulary.
 *
 * @param prompt Rendered with the template's switch on.
 * @returns undefined when nothing is to be thought, or the model or its engine cannot: the caller of this says so.
 */
export function planThinking(
  { thinking }: Pick<GenerationRequest, 'thinking'>,
  entry: ModelEntry,
  { capabilities }: Pick<TextEngine, 'capabilities'>,
  { model, prompt }: { readonly model: LoadedModel; readonly prompt: readonly PromptSegment[] },
): ThinkingPlan | undefined {
  if (!thinking || !canThink(entry, capabilities)) return undefined;
  const marks = thoughtMarks(entry, model);
  const tokens = Math.min(budgetOf(thinking, entry), Math.floor(model.contextTokens * CONTEXT_SHARE_MAX));
  return {
    marks,
    opening: isOpened(prompt, marks) ? [] : [mark(marks.open, model), plain('\n')],
    phase: {
      kind: 'thought',
      until: { text: marks.close, tokens },
      next: 1,
      thenAppend: [plain('\n'), mark(marks.close, model), plain('\n\n')],
    },
  };
}

/**
 * What closes a thought that the template opens although none is wanted: some models know no other way to answer, and
 * their template no switch.
 */
export function closeUnwanted(
  prompt: readonly PromptSegment[],
  entry: ModelEntry,
  model: LoadedModel,
): readonly PromptSegment[] {
  if (entry.abilities.thinking !== 'native') return [];
  const marks = thoughtMarks(entry, model);
  return isOpened(prompt, marks) ? [plain('\n'), mark(marks.close, model), plain('\n\n')] : [];
}

/** A prompt engine needs phases; a chat engine has to have a word for it. */
export const canThink = ({ abilities }: ModelEntry, { input, phases, thinking }: TextEngine['capabilities']): boolean =>
  (abilities.thinking ?? false) !== false && (input === 'chat' ? thinking !== undefined : phases);

/** A chat engine puts earlier thoughts into its prompt by itself. */
export const canKeepThoughts = (entry: ModelEntry, capabilities: TextEngine['capabilities']): boolean =>
  canThink(entry, capabilities) || ((entry.abilities.thinking ?? false) !== false && capabilities.input === 'chat');

/** An earlier answer as a model that is led to think would have written it. */
export const withThought = (thought: string, answer: string): string =>
  `${USUAL.open}\n${thought}\n${USUAL.close}\n\n${answer}`;

const thoughtMarks = ({ abilities }: ModelEntry, { chatTemplate, specialTokens }: LoadedModel): ThoughtMarks =>
  (abilities.thinking === 'native' &&
    [USUAL, ...OTHERS].find(({ open }) => specialTokens.includes(open) || chatTemplate?.includes(open))) ||
  USUAL;

/** Whether a model was trained to think, by what its files say. */
export const opensThoughts = (template: string, specialTokens: readonly string[]): boolean =>
  /\benable_thinking\b/.test(template) || [USUAL, ...OTHERS].some(({ open }) => specialTokens.includes(open));

const isOpened = (prompt: readonly PromptSegment[], { open }: ThoughtMarks): boolean =>
  prompt
    .slice(-3)
    .map(({ text }) => text)
    .join('')
    .trimEnd()
    .endsWith(open);

const mark = (text: string, { specialTokens }: LoadedModel): PromptSegment => ({
  text,
  special: specialTokens.includes(text),
});

const plain = (text: string): PromptSegment => ({ text, special: false });

function budgetOf(wish: NonNullable<GenerationRequest['thinking']>, { maxThinkingTokens }: ModelEntry): number {
  const most = maxThinkingTokens ?? BUDGET_TOKENS_DEFAULT;
  const byEffort = wish.effort === 'high' ? Math.ceil(most * HIGH_EFFORT_SHARE) : most;
  return Math.max(1, wish.budgetTokens ?? byEffort);
}
