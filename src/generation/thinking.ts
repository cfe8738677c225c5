import type { ModelEntry } from '../catalogue/model.ts';
import type { GenerationPhase, PromptSegment } from '../core/prompt.ts';
import { isMaxEffort, type GenerationRequest } from '../core/request.ts';
import type { LoadedModel, TextEngine } from '../engines/engine.ts';
import {
  findPromptEnd,
  getEndText,
  listThoughtTexts,
  USUAL_THOUGHTS,
  type ThoughtFormat,
} from './thoughts/thought-format.ts';
import { escapePattern } from './tools/call-markup.ts';
import { shiftPhases, toSegments, type ToolPlan } from './tools/plan-tools.ts';

/** How thoughts of an answer are requested from an engine, and parsed. */
export interface ThinkingPlan {
  readonly format: ThoughtFormat;
  /** Whether thoughts are part of the answer, because one was requested. Otherwise they are dropped. */
  readonly keepsThoughts: boolean;
  /** Whether the answer starts inside a thought that the prompt opened. */
  readonly isOpened: boolean;
  /** Text after the prompt: it opens or closes a thought, or starts a forced call. */
  readonly appended: readonly PromptSegment[];
  /** Phases of the thought and the answer. */
  readonly phases: readonly GenerationPhase[];
  /** Special tokens of the format, whose text the parser needs. */
  readonly markers: readonly string[];
  /** Texts that are removed from the answer, wherever they stand. */
  readonly removedMarks: readonly string[];
  /** The request wanted a larger budget than the model has. */
  readonly isBudgetClamped: boolean;
  /** The template answers without a thought although one was requested. */
  readonly isIgnored: boolean;
}

/** Share of the model's maximum for effort `high`; `max` uses all of it. Parley's choice. */
const HIGH_EFFORT_SHARE = 0.5;

/** Largest share of the context for the thought, so that an answer still fits. Parley's choice. */
const CONTEXT_SHARE_MAX = 0.5;

/** Thought tokens when neither caller nor catalogue sets a number. Parley's choice. */
const BUDGET_TOKENS_DEFAULT = 1024;

export interface PlanThinkingOptions {
  readonly model: Pick<LoadedModel, 'contextTokens' | 'specialTokens'>;
  /** Rendered with the template's switch on if the request wants a thought and the model was trained to think. */
  readonly prompt: readonly PromptSegment[];
  /** Format that the model's template shows. */
  readonly format: ThoughtFormat;
  /** The answer after the thought. */
  readonly answer: Pick<ToolPlan, 'opening' | 'phases'>;
}

/**
 * Plans the thought of an answer. A requested thought is a phase of its own. It ends at the closing mark, at the model's
 * end token or when its budget is used; in each case the closing mark is appended before the answer starts. A model that
 * was trained to think and opens the thought itself is free to answer without one. For other models, and before an
 * answer with a fixed form, the opening mark is appended to the prompt.
 *
 * Without a request, a thought is parsed in order to drop it. If the model may write one, it has a budget, so that it takes
 * nothing from the limits of the answer. A thought that the template opens is closed at once before an answer with a fixed
 * form.
 */
export function planThinking(
  { thinking }: Pick<GenerationRequest, 'thinking'>,
  entry: ModelEntry,
  { capabilities }: Pick<TextEngine, 'capabilities'>,
  { model, prompt, format: shownFormat, answer }: PlanThinkingOptions,
): ThinkingPlan {
  const isNative = entry.abilities.thinking === 'native';
  const options = canThink(entry, capabilities) ? thinking : undefined;
  const format = options && !isNative ? USUAL_THOUGHTS : shownFormat;
  const end = findPromptEnd(getEndText(prompt), format);
  const isIgnored = options !== undefined && isNative && end === 'closed';
  const hasFixedForm = answer.opening.length > 0 || answer.phases[0]?.grammar !== undefined;
  const opensUnasked = options === undefined && end === 'opened' && !hasFixedForm;
  // A thought that nobody requested has a budget of its own too, if the model may write one.
  const mayThink =
    canThink(entry, capabilities) && (opensUnasked || (isNative && format.isShown && end === 'none' && !hasFixedForm));
  const limited = options ?? (mayThink ? {} : undefined);
  const budget = limited && planBudget(limited, entry, model);
  const markers = model.specialTokens.filter((token) => listThoughtTexts(format).some((text) => text.includes(token)));
  const plan = {
    format,
    keepsThoughts: thinking !== undefined,
    isOpened: end === 'opened' && (options !== undefined || opensUnasked),
    markers,
    removedMarks: [
      ...[format.open, format.close].filter((mark) => (options ? HAS_TAG.test(mark) : markers.includes(mark))),
      // The mark may stand on a line of its own.
      ...(format.answerClose === '' ? [] : [`\n${format.answerClose}`, format.answerClose]),
      ...(format.answerClose.startsWith('<|close|>') ? [KIMI_TURN_CLOSE] : []),
    ],
    isBudgetClamped: budget?.isClamped === true,
    isIgnored,
  };
  if (!budget || isIgnored) {
    const closing = end === 'opened' && !opensUnasked ? toSegments(format.closing, markers) : [];
    return { ...plan, appended: [...closing, ...answer.opening], phases: answer.phases };
  }
  const thought: GenerationPhase = {
    kind: 'thought',
    until: { text: format.close, tokens: budget.tokens },
    appendOnEnd: [...toSegments(format.closing, markers), ...answer.opening],
  };
  if (end === 'opened') return { ...plan, appended: [], phases: startWithThought(thought, answer.phases) };
  if (!isNative || !format.isShown || hasFixedForm)
    return {
      ...plan,
      appended: toSegments(format.opening, markers),
      phases: startWithThought(thought, answer.phases),
    };
  return { ...plan, appended: [], phases: startFreely(thought, answer.phases, format) };
}

/** Kimi K3 closes the message as it closes each part of it, before its end token. */
const KIMI_TURN_CLOSE = '<|close|>message<|sep|>';

/** Marks that are only words may be part of an answer. */
const HAS_TAG = /[<[◁〈]/;

const FREE_ANSWER: GenerationPhase = { kind: 'answer' };

const startWithThought = (thought: GenerationPhase, answer: readonly GenerationPhase[]): GenerationPhase[] => [
  { ...thought, nextPhase: 1 },
  ...(answer.length > 0 ? shiftPhases(answer, 1) : [FREE_ANSWER]),
];

/** Phases of an answer that starts with a thought if the model writes its opening mark. */
function startFreely(
  thought: GenerationPhase,
  answer: readonly GenerationPhase[],
  { open }: ThoughtFormat,
): GenerationPhase[] {
  const shifted = answer.length > 0 ? shiftPhases(answer, 2) : [FREE_ANSWER];
  const [first = FREE_ANSWER] = shifted;
  const trigger = { pattern: `^\\s*${escapePattern(open)}`, phase: 1 };
  return [{ ...first, triggers: [trigger, ...(first.triggers ?? [])] }, { ...thought, nextPhase: 2 }, ...shifted];
}

function planBudget(
  options: NonNullable<GenerationRequest['thinking']>,
  entry: ModelEntry,
  { contextTokens }: Pick<LoadedModel, 'contextTokens'>,
): { readonly tokens: number; readonly isClamped: boolean } {
  const tokensMax = Math.max(1, Math.floor(contextTokens * CONTEXT_SHARE_MAX));
  const tokens = Math.min(getBudgetTokens(clampBudget(options, entry), entry), tokensMax);
  return { tokens, isClamped: (options.budgetTokens ?? 0) > tokens };
}

/** Whether a thought is possible: an engine that takes prompts needs phases, a chat server a field for thinking. */
export const canThink = ({ abilities }: ModelEntry, { input, phases, thinking }: TextEngine['capabilities']): boolean =>
  (abilities.thinking ?? false) !== false && (input === 'chat' ? thinking !== undefined : phases);

/** Whether earlier reasoning can stay in the prompt; a chat server adds it itself. */
export const canKeepThoughts = (entry: ModelEntry, capabilities: TextEngine['capabilities']): boolean =>
  canThink(entry, capabilities) || ((entry.abilities.thinking ?? false) !== false && capabilities.input === 'chat');

/** Formats an earlier answer with its thought, as a model writes it that is prompted to think. */
export const formatThoughtAndAnswer = (thought: string, answer: string): string =>
  `${USUAL_THOUGHTS.opening}${thought}${USUAL_THOUGHTS.closing}${answer}`;

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
  const byEffort =
    options.effort && !isMaxEffort(options.effort) ? Math.ceil(tokensMax * HIGH_EFFORT_SHARE) : tokensMax;
  return Math.max(1, options.budgetTokens ?? byEffort);
}
