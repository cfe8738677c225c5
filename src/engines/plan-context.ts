import { CONTEXT_TOKENS_MIN, CONTEXT_TOKENS_WANTED } from './limits.ts';

/** The contexts of an engine: so many sequences, each of which holds so many tokens of prompt and answer. */
export interface ContextPlan {
  readonly contextTokens: number;
  readonly sequences: number;
}

export interface ContextPlanOptions {
  /** Context length that the model was trained with. */
  readonly trainedTokens: number;
  /** Number of sequences if memory allows. */
  readonly sequences: number;
  /** Whether contexts of this size fit into memory. */
  readonly isFitting: (plan: ContextPlan) => boolean | Promise<boolean>;
}

/**
 * Chooses the contexts of an engine whose configuration states no context length. A long context is worth more than
 * another sequence: a request that no sequence can hold is refused, while one without a sequence only waits. So the number
 * of sequences is halved until each can hold `CONTEXT_TOKENS_WANTED`; then the context is halved. Above that length, the
 * context is the longest that fits for all sequences.
 */
export async function planContext({ trainedTokens, sequences, isFitting }: ContextPlanOptions): Promise<ContextPlan> {
  const long = listContextLengths(trainedTokens, CONTEXT_TOKENS_WANTED);
  for (let count = sequences; count >= 1; count = Math.floor(count / 2))
    for (const contextTokens of long) {
      const plan = { contextTokens, sequences: count };
      if (await isFitting(plan)) return plan;
    }
  const short = listContextLengths(Math.min(trainedTokens, CONTEXT_TOKENS_WANTED), CONTEXT_TOKENS_MIN);
  for (const contextTokens of short.slice(1))
    if (await isFitting({ contextTokens, sequences: 1 })) return { contextTokens, sequences: 1 };
  return { contextTokens: short.at(-1) ?? trainedTokens, sequences: 1 };
}

/** Lists a model's trained context length, and the powers of two below it down to a minimum. Longest first. */
export function listContextLengths(trainedTokens: number, tokensMin: number): readonly number[] {
  const lengths = [trainedTokens];
  for (let length = 2 ** Math.ceil(Math.log2(trainedTokens) - 1); length >= tokensMin; length /= 2)
    lengths.push(length);
  return lengths;
}
