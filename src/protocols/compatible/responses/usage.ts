import type { Usage } from '../../../core/event.ts';
import type { ServerToolUsage } from '../../../core/server-tools.ts';

/** Encodes the usage object (docs/wire/openai-compatible.md#response-object). `x_tools` counts server tool calls. */
export function encodeUsage({
  promptTokens,
  cachedTokens,
  completionTokens,
  reasoningTokens = 0,
  serverTools,
}: Usage): object {
  const counts = {
    input_tokens: promptTokens,
    output_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
  };
  return {
    input_tokens: promptTokens,
    input_tokens_details: { cached_tokens: cachedTokens },
    output_tokens: completionTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: counts.total_tokens,
    x_details: [{ ...counts, x_billing_type: 'response_api' }],
    ...(serverTools ? { x_tools: encodeToolUses(serverTools) } : {}),
  };
}

const encodeToolUses = ({ searches, pages, programs }: ServerToolUsage): object => ({
  ...(searches > 0 ? { web_search: { count: searches } } : {}),
  ...(pages > 0 ? { web_extractor: { count: pages } } : {}),
  ...(programs > 0 ? { code_interpreter: { count: programs } } : {}),
});
