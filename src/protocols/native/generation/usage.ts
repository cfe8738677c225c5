import type { Usage } from '../../../core/event.ts';
import type { SearchStrategy, ServerToolUse } from '../../../core/server-tools.ts';
import type { AnswerForm } from './form.ts';

/**
 * wire.md 1.3 and 1.8: integers (of a translation nothing else), and details where there is something to tell. The counters of an explicit cache are there
 * when the request marked one.
 */
export function encodeUsage(
  {
    promptTokens,
    cachedTokens,
    completionTokens,
    cacheCreationTokens,
    usesExplicitCache,
    reasoningTokens,
    serverTools,
  }: Usage,
  { type, hasThought }: Pick<AnswerForm, 'type' | 'hasThought'>,
): object {
  if (type === 'translation')
    return {
      input_tokens: promptTokens,
      output_tokens: completionTokens,
      total_tokens: promptTokens + completionTokens,
    };
  const isMultimodal = type === 'parts';
  const thought = hasThought || reasoningTokens !== undefined ? { reasoning_tokens: reasoningTokens ?? 0 } : {};
  const outputDetails = { ...(isMultimodal ? { text_tokens: completionTokens } : {}), ...thought };
  return {
    input_tokens: promptTokens,
    output_tokens: completionTokens,
    ...(isMultimodal ? { input_tokens_details: { text_tokens: promptTokens } } : {}),
    ...(Object.keys(outputDetails).length > 0 ? { output_tokens_details: outputDetails } : {}),
    prompt_tokens_details: {
      cached_tokens: cachedTokens,
      ...(cacheCreationTokens === undefined
        ? {}
        : {
            cache_creation: { ephemeral_5m_input_tokens: cacheCreationTokens },
            cache_creation_input_tokens: cacheCreationTokens,
          }),
      ...(usesExplicitCache ? { cache_type: 'ephemeral' } : {}),
    },
    total_tokens: promptTokens + completionTokens,
    ...pluginsOf(serverTools),
  };
}

/** wire.md 1.5 and 1.6: what was used, and nothing else. Pages are counted nowhere on this interface. */
function pluginsOf({ searches, strategy, programs }: ServerToolUse = NO_USE): object {
  const plugins = {
    ...(searches > 0 ? { search: { count: searches, strategy: strategyName(strategy ?? 'turbo') } } : {}),
    ...(programs > 0 ? { code_interpreter: { count: programs } } : {}),
  };
  return Object.keys(plugins).length > 0 ? { plugins } : {};
}

const NO_USE: ServerToolUse = { searches: 0, pages: 0, programs: 0 };

/** As the wire spells it. */
const strategyName = (strategy: SearchStrategy): string => strategy.replace('-', '_');
