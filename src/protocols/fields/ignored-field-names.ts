import { isDefined } from '../../lib/omit-nullish.ts';
import type { ChatFields } from './parameter-schema.ts';
import { listIgnoredThinkingFields } from './thinking.ts';

/**
 * Converts what generation ignored to the field names that this request used.
 *
 * @param ignored Names from generation. `thinking`, `preserve_thinking`, `response_format` and `cache_control` are
 *   abilities, each requested by one or several fields; every other name is a field name already.
 */
export function toIgnoredFieldNames(wire: ChatFields, ignored: readonly string[]): readonly string[] {
  return [
    ...ignored.filter((name) => !ABILITIES.has(name) && name !== BUDGET_CLAMPED),
    ...(ignored.includes(BUDGET_CLAMPED)
      ? [isDefined(wire.thinking_budget) ? BUDGET_CLAMPED : 'thinking.budget_tokens(clamped)']
      : []),
    ...listIgnoredThinkingFields(wire, ignored),
    ...(ignored.includes('response_format') ? ['response_format'] : []),
    ...(ignored.includes('cache_control') ? ['messages.cache_control'] : []),
  ];
}

const BUDGET_CLAMPED = 'thinking_budget(clamped)';

const ABILITIES = new Set(['thinking', 'preserve_thinking', 'response_format', 'cache_control']);
