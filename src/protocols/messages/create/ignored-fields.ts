import { isCustom, isServerBlock } from './schema.ts';
import type { PromptWire } from './schema.ts';
import { ignoredThinking } from './thinking.ts';

/**
 * Known fields that ask for something that does not happen.
 *
 * @param unheard What generation did not hear, in its words.
 */
export function ignoredFields(wire: PromptWire, unheard: readonly string[]): readonly string[] {
  const hasThoughts = wire.messages.some(
    ({ content }) => typeof content === 'object' && content.some(({ type }) => type === 'thinking'),
  );
  return [
    ...unheard.filter((name) => !ABILITIES.has(name)),
    ...ignoredThinking(wire, !unheard.includes('thinking')),
    ...(unheard.includes('preserve_thinking') && hasThoughts ? ['messages.content.thinking'] : []),
    ...(unheard.includes('response_format') ? ['output_config.format'] : []),
    ...(unheard.includes('cache_control') ? ['cache_control'] : []),
    ...(wire.tools ?? []).flatMap((tool, index) => {
      if (!isCustom(tool)) return [`tools[${index}]`];
      // A template says its tools where no mark can be put.
      return tool.cache_control ? [`tools[${index}].cache_control`] : [];
    }),
    ...wire.messages.flatMap(({ content }, index) =>
      typeof content === 'string'
        ? []
        : content.flatMap(({ type }, at) =>
            isServerBlock(type) || type === 'redacted_thinking' ? [`messages[${index}].content[${at}]`] : [],
          ),
    ),
    ...(wire.mcp_servers?.length ? ['mcp_servers'] : []),
    ...(isSet(wire.container) ? ['container'] : []),
    ...(isSet(wire.context_management) ? ['context_management'] : []),
  ];
}

const ABILITIES = new Set(['thinking', 'preserve_thinking', 'response_format', 'cache_control']);

const isSet = (value: unknown): boolean => value !== undefined && value !== null;
