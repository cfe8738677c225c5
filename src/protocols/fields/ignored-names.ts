import type { ChatFields } from './parameter-schema.ts';
import { ignoredThinking } from './thinking.ts';

/**
 * What generation says it did not hear, under the names that this request used for it.
 *
 * @param ignored In the words of generation. `thinking`, `preserve_thinking`, `tools`, `response_format` and
 *   `cache_control` stand for abilities, each of which several fields may ask for; any other is a field's name already.
 */
export function ignoredNames(wire: ChatFields, ignored: readonly string[]): readonly string[] {
  return [
    ...ignored.filter((name) => !ABILITIES.has(name)),
    ...ignoredThinking(wire, ignored),
    ...(ignored.includes('tools') ? toolFields(wire) : []),
    ...(ignored.includes('response_format') ? ['response_format'] : []),
    ...(ignored.includes('cache_control') ? ['messages.cache_control'] : []),
  ];
}

const ABILITIES = new Set(['thinking', 'preserve_thinking', 'tools', 'response_format', 'cache_control']);

/** Fields that wish for something: `auto` and `false` are what happens anyway. */
function toolFields(wire: ChatFields): readonly string[] {
  const choice = wire.tool_choice ?? 'auto';
  return [
    'tools',
    ...(choice === 'auto' ? [] : ['tool_choice']),
    ...(wire.parallel_tool_calls === true ? ['parallel_tool_calls'] : []),
    ...(wire.tool_stream === true && wire.stream === true ? ['tool_stream'] : []),
  ];
}
