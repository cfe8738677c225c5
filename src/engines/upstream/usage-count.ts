import type { Usage } from '../../core/event.ts';
import type { WireUsage } from './chunk.ts';

/** What an answer cost, as far as it is known: what the server told, where that can be. */
export interface UsageCount {
  /** The last that a server tells is the whole, and often the only one. */
  take(wire: WireUsage): void;
  /**
   * @param spoken Pieces of text that came, which are at least as many tokens: the bound where nobody knows better.
   * @param counted What we counted ourselves, in the place of what is lacking.
   */
  usage(spoken: number, counted?: Counted): Usage;
  /** What the server did not tell, or told as what cannot be: an empty prompt, or text from no token. */
  lacks(spoken: number): { readonly prompt: boolean; readonly completion: boolean };
}

export interface Counted {
  readonly promptTokens?: number | undefined;
  readonly completionTokens?: number | undefined;
}

/** @param isPerChoice Each choice comes with a usage of its own, which counts the prompt again. */
export function createUsageCount({ isPerChoice }: { readonly isPerChoice: boolean }): UsageCount {
  let last: WireUsage | undefined;
  let completion: number | undefined;

  const lacks = (spoken: number): { prompt: boolean; completion: boolean } => ({
    prompt: !last?.prompt_tokens,
    completion: completion === undefined || (completion === 0 && spoken > 0),
  });

  return {
    take(wire) {
      const told = wire.completion_tokens ?? undefined;
      completion = isPerChoice && told !== undefined ? (completion ?? 0) + told : told;
      // Later choices find the whole prompt in the cache, because the first one has just read it.
      last = isPerChoice ? (last ?? wire) : wire;
    },
    lacks,
    usage(spoken, counted) {
      const lacking = lacks(spoken);
      const promptTokens = (lacking.prompt ? counted?.promptTokens : last?.prompt_tokens) ?? 0;
      const completionTokens = (lacking.completion ? (counted?.completionTokens ?? spoken) : completion) ?? spoken;
      const reasoningTokens = last?.completion_tokens_details?.reasoning_tokens ?? last?.reasoning_tokens ?? 0;
      return {
        promptTokens,
        cachedTokens: Math.min(last?.prompt_tokens_details?.cached_tokens ?? 0, promptTokens),
        completionTokens,
        ...(reasoningTokens > 0 ? { reasoningTokens: Math.min(reasoningTokens, completionTokens) } : {}),
      };
    },
  };
}
