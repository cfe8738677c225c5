import type { ModelEntry } from '../../catalogue/model.ts';
import type { ThinkingOptions } from '../../core/request.ts';
import { omitNullish } from '../../lib/omit-nullish.ts';
import type { ChatFields } from './parameter-schema.ts';

type ThinkingFields = Pick<
  ChatFields,
  'enable_thinking' | 'thinking' | 'thinking_budget' | 'reasoning_effort' | 'preserve_thinking'
>;

/**
 * Tells whether a request turns thinking on. `reasoning_effort: none` has priority over `thinking`, which has priority
 * over `enable_thinking`; any other effort does not turn thinking on (docs/wire/choices.md#generation).
 */
export function isThinkingRequested({ reasoning_effort, thinking, enable_thinking }: ThinkingFields): boolean {
  if (reasoning_effort === 'none') return false;
  if (thinking) return thinking.type !== 'disabled';
  return enable_thinking === true;
}

/**
 * Tells whether the model will think. Rules about combining thinking with other fields apply only then: on a model that
 * cannot think, the request for thinking is ignored and must not cause errors.
 */
export const willThink = (wire: ThinkingFields, { abilities }: Pick<ModelEntry, 'abilities'>): boolean =>
  (abilities.thinking ?? false) !== false && isThinkingRequested(wire);

/** Converts the thinking fields (docs/wire/openai-compatible.md#chat-request). */
export function decodeThinking(wire: ThinkingFields): ThinkingOptions | undefined {
  if (!isThinkingRequested(wire)) return undefined;
  const effort = wire.reasoning_effort;
  return omitNullish({
    budgetTokens: wire.thinking_budget ?? wire.thinking?.budget_tokens,
    effort: effort === 'none' ? undefined : effort,
  });
}

/**
 * Lists thinking fields that have no effect.
 *
 * @param unsupported Abilities that the model lacks, by generation's names: `thinking`, `preserve_thinking`.
 */
export function listIgnoredThinkingFields(wire: ThinkingFields, unsupported: readonly string[]): readonly string[] {
  const isOn = isThinkingRequested(wire) && !unsupported.includes('thinking');
  const candidates: readonly (readonly [string, boolean])[] = [
    ['enable_thinking', wire.enable_thinking === true && isThinkingRequested(wire) && !isOn],
    ['thinking', Boolean(wire.thinking) && isThinkingRequested(wire) && !isOn],
    ['preserve_thinking', unsupported.includes('preserve_thinking')],
    ['thinking_budget', Boolean(wire.thinking_budget) && !isOn],
    ['reasoning_effort', Boolean(wire.reasoning_effort) && wire.reasoning_effort !== 'none' && !isOn],
  ];
  return candidates.filter(([, isIgnored]) => isIgnored).map(([name]) => name);
}
