import type { RankFunction } from '../../../generation/rank.ts';
import { omitNullish } from '../../../lib/omit-nullish.ts';
import { createJsonReply } from '../../endpoint.ts';
import type { Endpoint } from '../../endpoint.ts';
import { encodeIgnoredHeader } from '../../ignored-header.ts';
import { INTERFACES } from '../../interfaces.ts';
import { parseBody } from '../../parse.ts';
import { encodeRerankResults } from '../../fields/rerank-results.ts';
import { RerankBody, rerankTexts } from './schema.ts';

export interface RerankDeps {
  readonly rank: RankFunction;
  /** Rejects unknown fields with 400 instead of naming them in x-parley-ignored. */
  readonly strict?: boolean;
}

/** Creates POST /compatible-api/v1/reranks (docs/wire/openai-compatible.md#rerank). */
export function createRerankEndpoint({ rank, strict = false }: RerankDeps): Endpoint {
  return {
    operation: 'reranks.create',
    method: 'POST',
    path: '/compatible-api/v1/reranks',
    family: 'compatible',
    regions: INTERFACES.rerank.regions,
    onDisconnect: 'cancel',
    async handle({ body }, context) {
      const { wire, unknown } = parseBody(RerankBody, body, { texts: rerankTexts, strict });
      const request = {
        model: wire.model,
        query: { text: wire.query.toWellFormed(), field: 'query' },
        documents: wire.documents.map((text, at) => ({ text: text.toWellFormed(), field: `documents[${at}]` })),
        ...omitNullish({ top: wire.top_n }),
      };
      const ranked = await rank(request, context);
      const response = {
        object: 'list',
        results: encodeRerankResults(ranked, wire.return_documents ? wire.documents : undefined),
        model: wire.model,
        usage: { total_tokens: ranked.promptTokens },
        id: context.requestId,
      };
      return createJsonReply(response, encodeIgnoredHeader([...(wire.instruct ? ['instruct'] : []), ...unknown]));
    },
  };
}
