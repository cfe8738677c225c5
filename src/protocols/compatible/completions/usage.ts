import type { Usage } from '../../../core/event.ts';

/** Encodes the usage object, the same streamed or not (docs/wire/openai-compatible.md#completions). */
export const encodeUsage = ({ promptTokens, cachedTokens, completionTokens }: Usage): object => ({
  prompt_tokens: promptTokens,
  completion_tokens: completionTokens,
  total_tokens: promptTokens + completionTokens,
  completion_tokens_details: null,
  prompt_tokens_details: { audio_tokens: null, cached_tokens: cachedTokens },
});
