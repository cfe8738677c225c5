import type { RankFunction } from '../../../generation/rank.ts';
import { omitNullish } from '../../../lib/omit-nullish.ts';
import { createJsonReply } from '../../endpoint.ts';
import type { Endpoint } from '../../endpoint.ts';
import { encodeIgnoredHeader } from '../../ignored-header.ts';
import { INTERFACES } from '../../interfaces.ts';
import { parseBody } from '../../parse.ts';
import { encodeRerankResults } from '../../fields/rerank-results.ts';
import { TextRerankBody, TEXT_RERANK_TEXTS } from './schema.ts';

export interface TextRerankDeps {
  readonly rank: RankFunction;
  /** Rejects unknown fields with 400 instead of naming them in x-parley-ignored. */
  readonly strict?: boolean;
}

/** Creates POST /api/v1/services/rerank/text-rerank/text-rerank (docs/wire/dashscope-native.md#rerank). */
export function createTextRerankEndpoint({ rank, strict = false }: TextRerankDeps): Endpoint {
  return {
    operation: 'text-rerank.create',
    method: 'POST',
    path: '/api/v1/services/rerank/text-rerank/text-rerank',
    family: 'native',
    regions: INTERFACES.nativeRerank.regions,
    onDisconnect: 'cancel',
    async handle({ body }, context) {
      const { wire, unknown } = parseBody(TextRerankBody, body, { texts: TEXT_RERANK_TEXTS, strict });
      const { model, input, parameters } = wire;
      const request = {
        model,
        query: { text: input.query.toWellFormed(), field: 'input.query' },
        documents: input.documents.map((text, index) => ({
          text: text.toWellFormed(),
          field: `input.documents[${index}]`,
        })),
        ...omitNullish({ top: parameters?.top_n }),
      };
      const ranked = await rank(request, context);
      const response = {
        output: { results: encodeRerankResults(ranked, parameters?.return_documents ? input.documents : undefined) },
        usage: { total_tokens: ranked.promptTokens },
        request_id: context.requestId,
      };
      return createJsonReply(
        response,
        encodeIgnoredHeader([...(parameters?.instruct ? ['parameters.instruct'] : []), ...unknown]),
      );
    },
  };
}
