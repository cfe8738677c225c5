import { createJsonReply } from '../../endpoint.ts';
import type { Endpoint } from '../../endpoint.ts';
import { rerankTexts } from '../../fields/rerank-texts.ts';
import type { RerankDeps } from '../../fields/rerank-texts.ts';
import { encodeIgnoredHeader } from '../../ignored-header.ts';
import { INTERFACES } from '../../interfaces.ts';
import { parseBody } from '../../parse.ts';
import { TextRerankBody, TEXT_RERANK_TEXTS } from './schema.ts';

/** Creates POST /api/v1/services/rerank/text-rerank/text-rerank (docs/wire/dashscope-native.md#rerank). */
export function createTextRerankEndpoint({ rank, strict = false }: RerankDeps): Endpoint {
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
      const { results, usage } = await rerankTexts(rank, { model, input, at: 'input.', parameters }, context);
      const ignored = [...(parameters?.instruct ? ['parameters.instruct'] : []), ...unknown];
      return createJsonReply(
        { output: { results }, usage, request_id: context.requestId },
        encodeIgnoredHeader(ignored),
      );
    },
  };
}
