import { ServiceError } from '../../../core/error.ts';
import type { EmbedFunction } from '../../../generation/embed.ts';
import { createEmbedRequest } from '../../fields/embed-request.ts';
import { createJsonReply } from '../../endpoint.ts';
import type { Endpoint } from '../../endpoint.ts';
import { encodeIgnoredHeader } from '../../ignored-header.ts';
import { INTERFACES } from '../../interfaces.ts';
import { parseBody } from '../../parse.ts';
import type { ModelEndpointDeps } from '../../resolve-model.ts';
import { rejectAsyncRequest } from '../reject-async-request.ts';
import { encodeTextEmbedding } from './encode.ts';
import { TextEmbeddingBody, TEXT_EMBEDDING_TEXTS } from './schema.ts';
import type { TextEmbeddingWire } from './schema.ts';

export interface TextEmbeddingDeps extends ModelEndpointDeps {
  readonly embed: EmbedFunction;
}

/** Creates POST …/embeddings/text-embedding/text-embedding (docs/wire/dashscope-native.md#embeddings). */
export function createTextEmbeddingEndpoint({ embed, catalogue, strict = false }: TextEmbeddingDeps): Endpoint {
  return {
    operation: 'text-embedding.create',
    method: 'POST',
    path: '/api/v1/services/embeddings/text-embedding/text-embedding',
    family: 'native',
    regions: INTERFACES.nativeEmbeddings.regions,
    onDisconnect: 'cancel',
    async handle({ body, headers }, context) {
      rejectAsyncRequest({ headers });
      const { wire, unknown } = parseBody(TextEmbeddingBody, body, { texts: TEXT_EMBEDDING_TEXTS, strict });
      const { model, input, parameters } = wire;
      // An unknown model is reported before a number of texts above its limit.
      const resolved = await catalogue().resolve(model, { interface: 'embeddings', owner: context.owner });
      const request = createEmbedRequest({
        model,
        texts: { value: input.texts, at: 'input.texts' },
        dimensions: { value: parameters?.dimension, at: 'parameters.dimension' },
      });
      checkOutputType(parameters);
      const embedded = await embed(request, resolved, context);
      return createJsonReply(
        encodeTextEmbedding(embedded, context.requestId),
        encodeIgnoredHeader([...listIgnoredParameters(parameters), ...unknown]),
      );
    },
  };
}

function checkOutputType(parameters: TextEmbeddingWire['parameters']): void {
  const type = parameters?.output_type ?? 'dense';
  if (type === 'dense') return;
  const param = 'parameters.output_type';
  throw new ServiceError('unsupported', `Only dense embeddings are supported. (${param}: "${type}")`, { param });
}

/** Lists parameters without effect: models embed questions like documents, and do not support instructions. */
const listIgnoredParameters = (parameters: TextEmbeddingWire['parameters']): readonly string[] => [
  ...(parameters?.text_type === 'query' ? ['parameters.text_type'] : []),
  ...(parameters?.instruct ? ['parameters.instruct'] : []),
];
