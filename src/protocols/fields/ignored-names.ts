import type { ChatFields } from './parameter-schema.ts';
import { ignoredThinking } from './thinking.ts';

/**
 * What generation says it did not hear, under the names that this request used for it.
 *
 * @param ignored In the words of generation. `thinking`, `preserve_thinking`, `response_format` and
 *   `cache_control` stand for abilities, some of which several fields may ask for; any other is a field's name already.
 */
export function ignoredNames(wire: ChatFields, ignored: readonly string[]): readonly string[] {
  return [
    ...ignored.filter((name) => !ABILITIES.has(name)),
    ...ignoredThinking(wire, ignored),
    ...(ignored.includes('response_format') ? ['response_format'] : []),
    ...(ignored.includes('cache_control') ? ['messages.cache_control'] : []),
  ];
}

const ABILITIES = new Set(['thinking', 'preserve_thinking', 'response_format', 'cache_control']);
