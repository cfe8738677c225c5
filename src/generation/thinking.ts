import type { ModelEntry } from '../catalogue/model.ts';
import type { GenerationPhase, PromptSegment } from '../core/prompt.ts';
import type { GenerationRequest } from '../core/request.ts';
import type { LoadedModel, TextEngine } from '../engines/engine.ts';

/** The texts that enclose a model's thought. */
export interface ThoughtMarks {
  readonly open: string;
  readonly close: string;
}

/** How a thought is requested from an engine that supports phases. */
export interface ThinkingPlan {
  /** Text after the prompt that opens the thought; empty when the template opened it. */
  readonly opening: readonly PromptSegment[];
  /** The thought phase; it leads to the phase at position 1. */
  readonly phase: GenerationPhase;
  readonly marks: ThoughtMarks;
  /** The request wanted a larger budget than the model has. */
  readonly isBudgetClamped: boolean;
}

/** Marks that most models use, and those for models that were not trained to think. */
const USUAL_MARKS: ThoughtMarks = { open: '<think>', close: '</think>' };
const OTHER_MARKS: readonly ThoughtMarks[] = [
  { open: '[THINK]', close: '[/THINK]' },
  { open: '<seed:think>', close: '</seed:think>' },
  { open: '<|START_THINKING|>', close: '<|END_THINKING|>' },
];

/** Share of the model's maximum for effort `high`; `max` uses all of it. Parley's choice. */
const HIGH_EFFORT_SHARE = 0.5;

/** Largest share of the context for the thought, so that an answer still fits. Parley's choice. */
const CONTEXT_SHARE_MAX = 0.5;

/** Thought tokens when neither caller nor catalogue sets a number. Parley's choice. */
const BUDGET_TOKENS_DEFAULT = 1024;

/**
 * Plans the thought as a phase of its own. It ends at the closing mark, at the model's end token or when its budget is
 * used; in each case the closing mark is appended before the answer starts. This works for models that were trained to
 * think and for those that are only prompted to. Trained models have a switch in their template, which may open the
 * thought itself, and marks in their vocabulary.
 *
 * @param prompt Rendered with the template's switch on.
 * @returns undefined when no thought was requested, or when the model or its engine cannot think.
 */
export function planThinking(
  { thinking }: Pick<GenerationRequest, 'thinking'>,
  entry: ModelEntry,
  { capabilities }: Pick<TextEngine, 'capabilities'>,
  { model, prompt }: { readonly model: LoadedModel; readonly prompt: readonly PromptSegment[] },
): ThinkingPlan | undefined {
  if (!thinking || !canThink(entry, capabilities)) return undefined;
  const marks = findThoughtMarks(entry, model);
  const tokensMax = Math.floor(model.contextTokens * CONTEXT_SHARE_MAX);
  const tokens = Math.min(getBudgetTokens(clampBudget(thinking, entry), entry), Math.max(1, tokensMax));
  return {
    marks,
    isBudgetClamped: (thinking.budgetTokens ?? 0) > tokens,
    opening: endsWithOpenMark(prompt, marks) ? [] : [createMarkSegment(marks.open, model), createTextSegment('\n')],
    phase: {
      kind: 'thought',
      until: { text: marks.close, tokens },
      nextPhase: 1,
      appendOnEnd: [createTextSegment('\n'), createMarkSegment(marks.close, model), createTextSegment('\n\n')],
    },
  };
}

/**
 * Returns the text that closes a thought which the template opens although none was requested: some models always
 * think, and their template has no switch.
 */
export function closeUnwantedThought(
  prompt: readonly PromptSegment[],
  entry: ModelEntry,
  model: LoadedModel,
): readonly PromptSegment[] {
  if (entry.abilities.thinking !== 'native') return [];
  const marks = findThoughtMarks(entry, model);
  return endsWithOpenMark(prompt, marks)
    ? [createTextSegment('\n'), createMarkSegment(marks.close, model), createTextSegment('\n\n')]
    : [];
}

/** Whether a thought is possible: an engine that takes prompts needs phases, a chat server a field for thinking. */
export const canThink = ({ abilities }: ModelEntry, { input, phases, thinking }: TextEngine['capabilities']): boolean =>
  (abilities.thinking ?? false) !== false && (input === 'chat' ? thinking !== undefined : phases);

/** Whether earlier reasoning can stay in the prompt; a chat server adds it itself. */
export const canKeepThoughts = (entry: ModelEntry, capabilities: TextEngine['capabilities']): boolean =>
  canThink(entry, capabilities) || ((entry.abilities.thinking ?? false) !== false && capabilities.input === 'chat');

/** Formats an earlier answer with its thought, as a model writes it that is prompted to think. */
export const formatThoughtAndAnswer = (thought: string, answer: string): string =>
  `${USUAL_MARKS.open}\n${thought}\n${USUAL_MARKS.close}\n\n${answer}`;

const findThoughtMarks = ({ abilities }: ModelEntry, { chatTemplate, specialTokens }: LoadedModel): ThoughtMarks =>
  (abilities.thinking === 'native' &&
    [USUAL_MARKS, ...OTHER_MARKS].find(({ open }) => specialTokens.includes(open) || chatTemplate?.includes(open))) ||
  USUAL_MARKS;

/** Whether a model was trained to think, judged by its template and special tokens. */
export const isTrainedToThink = (template: string, specialTokens: readonly string[]): boolean =>
  /\benable_thinking\b/.test(template) ||
  [USUAL_MARKS, ...OTHER_MARKS].some(({ open }) => specialTokens.includes(open));

const endsWithOpenMark = (prompt: readonly PromptSegment[], { open }: ThoughtMarks): boolean =>
  prompt
    .slice(-3)
    .map(({ text }) => text)
    .join('')
    .trimEnd()
    .endsWith(open);

const createMarkSegment = (text: string, { specialTokens }: LoadedModel): PromptSegment => ({
  text,
  special: specialTokens.includes(text),
});

const createTextSegment = (text: string): PromptSegment => ({ text, special: false });

/** Lowers a requested budget to the model's maximum. */
export const clampBudget = <Options extends NonNullable<GenerationRequest['thinking']>>(
  options: Options,
  { maxThinkingTokens = Infinity }: Pick<ModelEntry, 'maxThinkingTokens'>,
): Options =>
  (options.budgetTokens ?? 0) > maxThinkingTokens ? { ...options, budgetTokens: maxThinkingTokens } : options;

function getBudgetTokens(
  options: NonNullable<GenerationRequest['thinking']>,
  { maxThinkingTokens }: ModelEntry,
): number {
  const tokensMax = maxThinkingTokens ?? BUDGET_TOKENS_DEFAULT;
  const byEffort = options.effort === 'high' ? Math.ceil(tokensMax * HIGH_EFFORT_SHARE) : tokensMax;
  return Math.max(1, options.budgetTokens ?? byEffort);
}
