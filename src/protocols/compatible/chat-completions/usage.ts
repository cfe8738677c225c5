import type { Usage } from '../../../core/event.ts';

/**
 * Encodes the usage object, the same streamed or not. Values that Parley does not measure are null
 * (docs/wire/openai-compatible.md#chat-response).
 */
export function encodeUsage({
  promptTokens,
  cachedTokens,
  completionTokens,
  cacheCreationTokens = 0,
  imageTokens,
  audioTokens,
  usesExplicitCache,
  reasoningTokens,
}: Usage): object {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    completion_tokens_details: {
      audio_tokens: null,
      reasoning_tokens: reasoningTokens ?? null,
      text_tokens: completionTokens,
    },
    prompt_tokens_details: {
      audio_tokens: audioTokens ?? null,
      cached_tokens: cachedTokens,
      text_tokens: promptTokens - (imageTokens ?? 0) - (audioTokens ?? 0),
      image_tokens: imageTokens ?? null,
      video_tokens: null,
      cache_creation: { ephemeral_5m_input_tokens: cacheCreationTokens },
      cache_creation_input_tokens: cacheCreationTokens,
      ...(usesExplicitCache ? { cache_type: 'ephemeral' } : {}),
    },
  };
}
