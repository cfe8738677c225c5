import type { Rank } from '../../../generation/rank.ts';
import { present } from '../../../lib/present.ts';
import { json } from '../../endpoint.ts';
import type { Endpoint } from '../../endpoint.ts';
import { ignoredHeader } from '../../ignored.ts';
import { INTERFACES } from '../../interfaces.ts';
import { parseBody } from '../../parse.ts';
import { rerankResults } from '../../fields/rerank-results.ts';
import { TextRerankBody, textRerankTexts } from './schema.ts';

export interface TextRerankNeeds {
  readonly rank: Rank;
  /** Unknown fields are 400 instead of being named in x-parley-ignored. */
  readonly strict?: boolean;
}

/** POST /api/v1/services/rerank/text-rerank/text-rerank (wire.md 10). */
export function textRerank({ rank, strict = false }: TextRerankNeeds): Endpoint {
  return {
    operation: 'text-rerank.create',
    method: 'POST',
    path: '/api/v1/services/rerank/text-rerank/text-rerank',
    family: 'native',
    regions: INTERFACES.nativeRerank.regions,
    onDisconnect: 'cancel',
    async handle({ body }, context) {
      const { wire, unknown } = parseBody(TextRerankBody, body, { texts: textRerankTexts, strict });
      const { model, input, parameters } = wire;
      const wish = {
        model,
        query: { text: input.query.toWellFormed(), field: 'input.query' },
        documents: input.documents.map((text, at) => ({
          text: text.toWellFormed(),
          field: `input.documents[${at}]`,
        })),
        ...present({ top: parameters?.top_n }),
      };
      const ranked = await rank(wish, context);
      const answer = {
        output: { results: rerankResults(ranked, parameters?.return_documents ? input.documents : undefined) },
        usage: { total_tokens: ranked.promptTokens },
        request_id: context.requestId,
      };
      return json(answer, ignoredHeader([...(parameters?.instruct ? ['parameters.instruct'] : []), ...unknown]));
    },
  };
}
