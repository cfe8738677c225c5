import type { ModelEntry } from '../../../catalogue/model.ts';
import type { ThinkingOptions } from '../../../core/request.ts';
import { isDefined, omitNullish } from '../../../lib/omit-nullish.ts';
import type { PromptWire } from './schema.ts';

type ThinkingFields = Pick<PromptWire, 'thinking' | 'reasoning_effort' | 'output_config'>;

const getEffort = ({ reasoning_effort, output_config }: ThinkingFields) => output_config?.effort ?? reasoning_effort;

/** Effort none wins, then `thinking` decides; an effort alone enables nothing (docs/wire/choices.md#generation). */
const isThinkingRequested = (wire: ThinkingFields): boolean =>
  getEffort(wire) !== 'none' && (wire.thinking?.type === 'enabled' || wire.thinking?.type === 'adaptive');

/** Whether the model will think: requested and supported. Rules between thinking and other fields apply only then. */
export const willThink = (wire: ThinkingFields, { abilities }: Pick<ModelEntry, 'abilities'>): boolean =>
  (abilities.thinking ?? false) !== false && isThinkingRequested(wire);

/**
 * Enables thinking for a model that thinks by default, unless the request sets it, forces a tool call, starts the
 * answer, or has the effort none.
 */
export function applyDefaultThinking<Wire extends PromptWire>(
  wire: Wire,
  { thinksByDefault }: Pick<ModelEntry, 'thinksByDefault'>,
): Wire {
  const { thinking, tool_choice: choice, messages } = wire;
  const isForced = choice?.type === 'any' || choice?.type === 'tool';
  const isExcluded = isForced || messages.at(-1)?.role === 'assistant' || getEffort(wire) === 'none';
  return !thinksByDefault || isExcluded || isDefined(thinking) ? wire : { ...wire, thinking: { type: 'adaptive' } };
}

export function decodeThinking(wire: ThinkingFields): ThinkingOptions | undefined {
  if (!isThinkingRequested(wire)) return undefined;
  const effort = getEffort(wire);
  return omitNullish({
    budgetTokens: wire.thinking?.type === 'enabled' ? wire.thinking.budget_tokens : undefined,
    effort: effort === 'none' ? undefined : effort,
  });
}

/** Lists thinking fields without effect. @param isSupported Whether generation applied the thinking options. */
export function listIgnoredThinkingFields(wire: ThinkingFields, isSupported: boolean): readonly string[] {
  const { thinking } = wire;
  const effortFields = [
    ...(wire.output_config?.effort ? ['output_config.effort'] : []),
    ...(wire.reasoning_effort ? ['reasoning_effort'] : []),
  ];
  if (isSupported)
    return [
      // An effort alone does not enable thinking.
      ...(!isThinkingRequested(wire) && getEffort(wire) !== 'none' ? effortFields : []),
      ...(thinking?.type === 'between_tools' ? ['thinking'] : []),
      // Thinking is always sent in full.
      ...(thinking && 'display' in thinking && UNSUPPORTED_DISPLAYS.has(thinking.display ?? '')
        ? ['thinking.display']
        : []),
    ];
  return [...(thinking ? ['thinking'] : []), ...effortFields];
}

const UNSUPPORTED_DISPLAYS: ReadonlySet<string> = new Set(['omitted', 'updates']);
