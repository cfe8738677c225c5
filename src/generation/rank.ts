import type { RequestContext } from '../core/context.ts';
import { ServiceError } from '../core/error.ts';
import type { EmbeddingInput, RankingEngine } from '../engines/engine.ts';
import { withEngine } from './with-engine.ts';
import type { WithEngineNeeds } from './with-engine.ts';

export interface RankingWish {
  /** As the caller wrote it; the catalogue resolves it. */
  readonly model: string;
  readonly query: EmbeddingInput;
  readonly documents: readonly EmbeddingInput[];
  /** Only so many of the best. */
  readonly top?: number;
}

export interface Ranked {
  /** Best first; `index` is the document's place in the wish. */
  readonly results: readonly { readonly index: number; readonly score: number }[];
  readonly promptTokens: number;
}

/** Puts documents in order. @throws ServiceError of any kind the catalogue, the admission or the engine refuses with. */
export type Rank = (wish: RankingWish, context: RequestContext) => Promise<Ranked>;

export function createRank(needs: WithEngineNeeds<RankingEngine>): Rank {
  return ({ model, query, documents, top }, context) =>
    withEngine(needs, { model, interface: 'rerank' }, context, async (engine, owner) => {
      const { scores, tokens } = await engine.rank({ id: context.requestId, owner, query, documents }, context.signal);
      if (scores.length !== documents.length || !scores.every(Number.isFinite))
        throw new ServiceError('engine-failed', 'The engine failed on this request.', {
          cause: new Error('the engine left out a score'),
        });
      const results = scores.map((score, index) => ({ index, score })).toSorted((a, b) => b.score - a.score);
      return { promptTokens: tokens, result: { results: results.slice(0, top), promptTokens: tokens } };
    });
}
