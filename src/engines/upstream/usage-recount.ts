import type { UpstreamCallOptions } from '../remote/upstream-client.ts';
import type { EngineRequest } from '../engine.ts';
import type { UpstreamTokenizer } from './upstream-tokenizer.ts';
import type { MissingCounts, RecountedUsage } from './usage-counter.ts';

/**
 * Counts the tokens of an answered request with the server's tokenizer. Never rejects: what cannot be counted is undefined.
 * @param outputText All generated text, including reasoning and arguments of calls, without the markup around them. The
 *   count of an answer with calls is therefore slightly too low.
 */
export type UsageRecount = (outputText: string, missing: MissingCounts) => Promise<RecountedUsage>;

export function createUsageRecount(
  tokenizer: UpstreamTokenizer,
  { input }: EngineRequest,
  options: UpstreamCallOptions,
): UsageRecount {
  const countOrUndefined = (count: Promise<number> | undefined): Promise<number | undefined> | undefined =>
    count?.catch(() => undefined);
  return async (outputText, missing) => {
    const [promptTokens, textTokens, completionTokens] = await Promise.all([
      missing.prompt ? countOrUndefined(tokenizer.countTokens(input, options)) : undefined,
      missing.images ? countOrUndefined(tokenizer.countTextTokens?.(input, options)) : undefined,
      missing.completion ? countOrUndefined(tokenizer.countTokens(toSegmentsInput(outputText), options)) : undefined,
    ]);
    return { promptTokens, textTokens, completionTokens };
  };
}

const toSegmentsInput = (text: string): EngineRequest['input'] => ({
  type: 'segments',
  segments: [{ text, special: false }],
});
