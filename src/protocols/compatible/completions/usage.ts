import type { Usage } from '../../../core/event.ts';

/** wire.md E5. The same object streamed or not. */
export const encodeUsage = ({ promptTokens, cachedTokens, completionTokens }: Usage): object => ({
  prompt_tokens: promptTokens,
  completion_tokens: completionTokens,
  total_tokens: promptTokens + completionTokens,
  completion_tokens_details: null,
  prompt_tokens_details: { audio_tokens: null, cached_tokens: cachedTokens },
});
