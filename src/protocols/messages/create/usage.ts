import type { Usage } from '../../../core/event.ts';

/** wire.md E3.2: what was read from a cache or written to one does not count as input here. */
export function encodeUsage({ promptTokens, cachedTokens, cacheCreationTokens = 0, completionTokens }: Usage): object {
  return {
    input_tokens: Math.max(0, promptTokens - cachedTokens - cacheCreationTokens),
    output_tokens: completionTokens,
    cache_creation_input_tokens: cacheCreationTokens,
    cache_read_input_tokens: cachedTokens,
  };
}
