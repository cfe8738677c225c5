import type { EmbedFunction } from '../../../generation/embed.ts';
import { createEmbedRequest } from '../../fields/embed-request.ts';
import { createJsonReply } from '../../endpoint.ts';
import type { Endpoint } from '../../endpoint.ts';
import { encodeIgnoredHeader } from '../../ignored-header.ts';
import { INTERFACES } from '../../interfaces.ts';
import { parseBody } from '../../parse.ts';
import type { ModelEndpointDeps } from '../../resolve-model.ts';
import { encodeEmbeddings } from './encode.ts';
import { EmbeddingsBody, embeddingsTexts } from './schema.ts';

export interface EmbeddingsDeps extends ModelEndpointDeps {
  readonly embed: EmbedFunction;
}

/** Creates POST /compatible-mode/v1/embeddings (docs/wire/openai-compatible.md#embeddings). */
export function createEmbeddingsEndpoint({ embed, catalogue, strict = false }: EmbeddingsDeps): Endpoint {
  return {
    operation: 'embeddings.create',
    method: 'POST',
    path: '/compatible-mode/v1/embeddings',
    family: 'compatible',
    regions: INTERFACES.embeddings.regions,
    onDisconnect: 'cancel',
    async handle({ body }, context) {
      const { wire, unknown } = parseBody(EmbeddingsBody, body, { texts: embeddingsTexts, strict });
      const { model, input, dimensions, encoding_format: format } = wire;
      // An unknown model is reported before too many texts, whose limit depends on the model.
      const resolved = await catalogue().resolve(model, { interface: 'embeddings', owner: context.owner });
      const request = createEmbedRequest({
        model,
        texts: { value: input, at: 'input' },
        dimensions: { value: dimensions, at: 'dimensions' },
      });
      const result = await embed(request, resolved, context);
      const head = { requestId: context.requestId, model, format: format ?? 'float' } as const;
      return createJsonReply(encodeEmbeddings(head, result), encodeIgnoredHeader(unknown));
    },
  };
}
