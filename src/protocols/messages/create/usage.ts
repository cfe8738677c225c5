import type { Usage } from '../../../core/event.ts';

/** Encodes the usage; cached and cache-creating tokens are not part of input_tokens on this interface. */
export const encodeUsage = ({
  promptTokens,
  cachedTokens,
  cacheCreationTokens = 0,
  completionTokens,
  serverTools,
}: Usage): object => ({
  input_tokens: Math.max(0, promptTokens - cachedTokens - cacheCreationTokens),
  output_tokens: completionTokens,
  cache_creation_input_tokens: cacheCreationTokens,
  cache_read_input_tokens: cachedTokens,
  ...(serverTools
    ? { server_tool_use: { web_search_requests: serverTools.searches, web_fetch_requests: serverTools.pages } }
    : {}),
});
