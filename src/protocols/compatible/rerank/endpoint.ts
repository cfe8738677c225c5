import type { Rank } from '../../../generation/rank.ts';
import { present } from '../../../lib/present.ts';
import { json } from '../../endpoint.ts';
import type { Endpoint } from '../../endpoint.ts';
import { ignoredHeader } from '../../ignored.ts';
import { INTERFACES } from '../../interfaces.ts';
import { parseBody } from '../../parse.ts';
import { rerankResults } from '../../fields/rerank-results.ts';
import { RerankBody, rerankTexts } from './schema.ts';

export interface RerankNeeds {
  readonly rank: Rank;
  /** Unknown fields are 400 instead of being named in x-parley-ignored. */
  readonly strict?: boolean;
}

/** POST /compatible-api/v1/reranks (wire.md 10). */
export function rerank({ rank, strict = false }: RerankNeeds): Endpoint {
  return {
    operation: 'reranks.create',
    method: 'POST',
    path: '/compatible-api/v1/reranks',
    family: 'compatible',
    regions: INTERFACES.rerank.regions,
    onDisconnect: 'cancel',
    async handle({ body }, context) {
      const { wire, unknown } = parseBody(RerankBody, body, { texts: rerankTexts, strict });
      const wish = {
        model: wire.model,
        query: { text: wire.query.toWellFormed(), field: 'query' },
        documents: wire.documents.map((text, at) => ({ text: text.toWellFormed(), field: `documents[${at}]` })),
        ...present({ top: wire.top_n }),
      };
      const ranked = await rank(wish, context);
      const answer = {
        object: 'list',
        results: rerankResults(ranked, wire.return_documents ? wire.documents : undefined),
        model: wire.model,
        usage: { total_tokens: ranked.promptTokens },
        id: context.requestId,
      };
      return json(answer, ignoredHeader([...(wire.instruct ? ['instruct'] : []), ...unknown]));
    },
  };
}
