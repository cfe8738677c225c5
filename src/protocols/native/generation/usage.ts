import type { Usage } from '../../../core/event.ts';
import type { SearchStrategy, ServerToolUsage } from '../../../core/server-tools.ts';
import { omitNullish } from '../../../lib/omit-nullish.ts';
import type { AnswerFormat } from './answer-format.ts';

/**
 * Encodes the usage; details are present only if they apply, the counters of the explicit cache if the request marked
 * one (docs/wire/dashscope-native.md#generation-response, #multimodal-generation). A translation has the three totals
 * only.
 */
export function encodeUsage(
  {
    promptTokens,
    cachedTokens,
    completionTokens,
    cacheCreationTokens,
    imageTokens,
    audioTokens,
    usesExplicitCache,
    reasoningTokens,
    serverTools,
  }: Usage,
  { type, hasReasoning }: Pick<AnswerFormat, 'type' | 'hasReasoning'>,
): object {
  if (type === 'translation')
    return {
      input_tokens: promptTokens,
      output_tokens: completionTokens,
      total_tokens: promptTokens + completionTokens,
    };
  const isMultimodal = type === 'parts';
  const mediaTokens = omitNullish({ image_tokens: imageTokens, audio_tokens: audioTokens });
  const textTokens = promptTokens - (imageTokens ?? 0) - (audioTokens ?? 0);
  const thought = hasReasoning || reasoningTokens !== undefined ? { reasoning_tokens: reasoningTokens ?? 0 } : {};
  const outputDetails = { ...(isMultimodal ? { text_tokens: completionTokens } : {}), ...thought };
  return {
    input_tokens: promptTokens,
    output_tokens: completionTokens,
    ...(isMultimodal ? { ...mediaTokens, input_tokens_details: { text_tokens: textTokens, ...mediaTokens } } : {}),
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
    ...encodePlugins(serverTools),
  };
}

/** Encodes uses of search and code interpreter. This interface has no counter for pages. */
function encodePlugins({ searches, strategy, programs }: ServerToolUsage = NO_USAGE): object {
  const plugins = {
    ...(searches > 0 ? { search: { count: searches, strategy: encodeStrategy(strategy ?? 'turbo') } } : {}),
    ...(programs > 0 ? { code_interpreter: { count: programs } } : {}),
  };
  return Object.keys(plugins).length > 0 ? { plugins } : {};
}

const NO_USAGE: ServerToolUsage = { searches: 0, pages: 0, programs: 0 };

const encodeStrategy = (strategy: SearchStrategy): string => strategy.replace('-', '_');
