import { createJsonReply } from '../../endpoint.ts';
import type { Endpoint } from '../../endpoint.ts';
import { rerankTexts } from '../../fields/rerank-texts.ts';
import type { RerankDeps } from '../../fields/rerank-texts.ts';
import { encodeIgnoredHeader } from '../../ignored-header.ts';
import { INTERFACES } from '../../interfaces.ts';
import { parseBody } from '../../parse.ts';
import { RerankBody, RERANK_TEXTS } from './schema.ts';

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
      const { wire, unknown } = parseBody(RerankBody, body, { texts: RERANK_TEXTS, strict });
      const { model, instruct } = wire;
      const { results, usage } = await rerankTexts(rank, { model, input: wire, at: '', parameters: wire }, context);
      const response = { object: 'list', results, model, usage, id: context.requestId };
      return createJsonReply(response, encodeIgnoredHeader([...(instruct ? ['instruct'] : []), ...unknown]));
    },
  };
}
