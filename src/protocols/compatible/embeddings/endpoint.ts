import type { EmbedFunction } from '../../../generation/embed.ts';
import { checkEmbeddingCount } from '../../fields/check-embedding-count.ts';
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
      const texts = typeof input === 'string' ? [input] : input;
      // An unknown model is reported before too many texts, whose limit depends on the model.
      const resolved = catalogue().resolve(model, { interface: 'embeddings', owner: context.owner });
      checkEmbeddingCount(texts, { model, at: 'input' });
      const request = {
        model,
        inputs: texts.map((text, at) => ({
          text: text.toWellFormed(),
          field: texts === input ? `input[${at}]` : 'input',
        })),
        ...(typeof dimensions === 'number' ? { dimensions: { count: dimensions, field: 'dimensions' } } : {}),
      };
      const result = await embed(request, resolved, context);
      const head = { requestId: context.requestId, model, format: format ?? 'float' } as const;
      return createJsonReply(encodeEmbeddings(head, result), encodeIgnoredHeader(unknown));
    },
  };
}
