import type { LlamaModel } from 'node-llama-cpp';
import { RERANK_TOKENS_MAX } from '../../core/limits.ts';

/** A context of its own for scores: it knows one query and one document at a time. */
export interface NativeRanking {
  /** Most tokens of a query and a document together, with what stands around them. */
  readonly tokensMax: number;
  tokens(query: string, document: string): number;
  /** From 0 to 1. */
  score(query: string, document: string): Promise<number>;
}

/** Undefined for a model that was not trained to rank. */
export async function openNativeRanking(
  model: LlamaModel,
  { threads }: { readonly threads: number },
): Promise<NativeRanking | undefined> {
  if (!model.fileInsights.supportsRanking) return undefined;
  const contextSize = Math.min(model.trainContextSize, RERANK_TOKENS_MAX);
  // One batch: such a model reads everything at once.
  const context = await model.createRankingContext({ contextSize, batchSize: contextSize, threads });
  return {
    tokensMax: contextSize - 1, // the library wants a place beyond the last token
    tokens: (query, document) => context.calculateInputLength(query, document),
    score: (query, document) => context.rank(query, document),
  };
}
