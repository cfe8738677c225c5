import type { ChatCompletionWire } from './schema.ts';

/**
 * Known fields that this version does not honour although they ask for another answer. A field that spells out what
 * happens anyway (`enable_search: false`) is honoured, so it is not named.
 */
export function ignoredFields(wire: ChatCompletionWire): readonly string[] {
  const hasTools = (wire.tools?.length ?? 0) > 0;
  const searches = wire.enable_search === true;
  const options = wire.search_options;
  const wishes: readonly (readonly [string, boolean])[] = [
    ['tools', hasTools],
    [
      'tool_choice',
      hasTools && wire.tool_choice !== 'auto' && wire.tool_choice !== 'none' && Boolean(wire.tool_choice),
    ],
    ['parallel_tool_calls', wire.parallel_tool_calls === true],
    ['tool_stream', wire.tool_stream === true],
    ['response_format', Boolean(wire.response_format) && wire.response_format?.type !== 'text'],
    ['enable_code_interpreter', wire.enable_code_interpreter === true],
    ['enable_search', searches],
    ['search_options.forced_search', searches && options?.forced_search === true],
    [
      'search_options.search_strategy',
      searches && Boolean(options?.search_strategy) && options?.search_strategy !== 'turbo',
    ],
    ['search_options.enable_search_extension', searches && options?.enable_search_extension === true],
    ['search_options.enable_source', searches && options?.enable_source === true],
    ['search_options.enable_citation', searches && options?.enable_citation === true],
    [
      'search_options.citation_format',
      searches && options?.enable_citation === true && Boolean(options.citation_format),
    ],
    ['search_options.prepend_search_result', searches && options?.prepend_search_result === true],
    ['modalities', wire.modalities?.includes('audio') === true],
    ['audio', Boolean(wire.audio)],
    ['messages.cache_control', hasCacheControl(wire)],
  ];
  return wishes.filter(([, isWish]) => isWish).map(([name]) => name);
}

const hasCacheControl = ({ messages }: ChatCompletionWire): boolean =>
  messages.some(
    ({ content }) => Array.isArray(content) && content.some((part) => part.type === 'text' && part.cache_control),
  );
