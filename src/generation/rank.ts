import type { RequestContext } from '../core/context.ts';
import type { EmbeddingInput, RankingEngine } from '../engines/engine.ts';
import { withEngine, type WithEngineDeps } from './with-engine.ts';
import { createEngineFailedError } from '../core/generation-errors.ts';

export interface RankRequest {
  /** Name in the caller's request; the catalogue resolves it. */
  readonly model: string;
  readonly query: EmbeddingInput;
  readonly documents: readonly EmbeddingInput[];
  /** Number of best results to return; all when absent. */
  readonly top?: number;
}

export interface RankResult {
  /** Best first; `index` is the document's position in the request. */
  readonly results: readonly { readonly index: number; readonly score: number }[];
  readonly promptTokens: number;
}

/** Sorts documents by relevance. @throws ServiceError as the catalogue, the admission or the engine does. */
export type RankFunction = (request: RankRequest, context: RequestContext) => Promise<RankResult>;

export function createRanker(deps: WithEngineDeps<RankingEngine>): RankFunction {
  return ({ model, query, documents, top }, context) =>
    withEngine(deps, { model, on: { interface: 'rerank' } }, context, async (engine, owner) => {
      const { scores, tokens } = await engine.rank({ id: context.requestId, owner, query, documents }, context.signal);
      if (scores.length !== documents.length || !scores.every(Number.isFinite))
        throw createEngineFailedError(new Error('the engine left out a score'));
      const results = scores.map((score, index) => ({ index, score })).toSorted((a, b) => b.score - a.score);
      return { promptTokens: tokens, result: { results: results.slice(0, top), promptTokens: tokens } };
    });
}
