import type { LlamaModel } from 'node-llama-cpp';
import { RERANK_TOKENS_MAX } from './limits.ts';

/** A separate context for reranking. It scores one document for one query at a time. */
export interface NativeRanking {
  /** Most tokens of a query and a document together, including the tokens of their template. */
  readonly tokensMax: number;
  countTokens(query: string, document: string): number;
  /** Returns the relevance of a document, from 0 to 1. */
  score(query: string, document: string): Promise<number>;
}

/** Returns undefined for a model that is not a reranking model. */
export async function openNativeRanking(
  model: LlamaModel,
  { threads }: { readonly threads: number },
): Promise<NativeRanking | undefined> {
  if (!model.fileInsights.supportsRanking) return undefined;
  const contextSize = Math.min(model.trainContextSize, RERANK_TOKENS_MAX);
  // A reranking model reads its whole input at once, so the batch is as large as the context.
  const context = await model.createRankingContext({ contextSize, batchSize: contextSize, threads });
  return {
    tokensMax: contextSize - 1, // the library needs one free position after the last token
    countTokens: (query, document) => context.calculateInputLength(query, document),
    score: (query, document) => context.rank(query, document),
  };
}
