import type { ModelEntry } from '../../catalogue/model.ts';
import type { ThinkingWish } from '../../core/request.ts';
import { present } from '../../lib/present.ts';
import type { ChatFields } from './parameter-schema.ts';

type ThinkingFields = Pick<
  ChatFields,
  'enable_thinking' | 'thinking' | 'thinking_budget' | 'reasoning_effort' | 'preserve_thinking'
>;

/** decisions.md "Generation": reasoning_effort none, then thinking, then enable_thinking; effort alone switches nothing on. */
export function wantsThinking({ reasoning_effort, thinking, enable_thinking }: ThinkingFields): boolean {
  if (reasoning_effort === 'none') return false;
  if (thinking) return thinking.type !== 'disabled';
  return enable_thinking === true;
}

/**
 * Whether a thought comes of it. Rules about thinking beside other fields hold only then: on a model that cannot think the
 * wish is ignored, so that nothing stands in the way of the rest.
 */
export const willThink = (wire: ThinkingFields, { abilities }: Pick<ModelEntry, 'abilities'>): boolean =>
  (abilities.thinking ?? false) !== false && wantsThinking(wire);

/** Specification, E1: low and medium are high, xhigh is max. */
export function decodeThinking(wire: ThinkingFields): ThinkingWish | undefined {
  if (!wantsThinking(wire)) return undefined;
  const effort = wire.reasoning_effort;
  return present({
    budgetTokens: wire.thinking_budget ?? wire.thinking?.budget_tokens,
    effort: effort === 'max' || effort === 'xhigh' ? ('max' as const) : effort ? ('high' as const) : undefined,
  });
}

/**
 * Fields about thinking that change nothing.
 *
 * @param unheard What the model cannot do, in the words of generation: `thinking`, `preserve_thinking`.
 */
export function ignoredThinking(wire: ThinkingFields, unheard: readonly string[]): readonly string[] {
  const isOn = wantsThinking(wire) && !unheard.includes('thinking');
  const wishes: readonly (readonly [string, boolean])[] = [
    ['enable_thinking', wire.enable_thinking === true && wantsThinking(wire) && !isOn],
    ['thinking', Boolean(wire.thinking) && wantsThinking(wire) && !isOn],
    ['preserve_thinking', unheard.includes('preserve_thinking')],
    ['thinking_budget', Boolean(wire.thinking_budget) && !isOn],
    ['reasoning_effort', Boolean(wire.reasoning_effort) && wire.reasoning_effort !== 'none' && !isOn],
  ];
  return wishes.filter(([, isIgnored]) => isIgnored).map(([name]) => name);
}
