import type { Catalogue } from '../../../catalogue/model.ts';
import type { Embed } from '../../../generation/embed.ts';
import { checkTexts } from '../../fields/embedding-texts.ts';
import { json } from '../../endpoint.ts';
import type { Endpoint } from '../../endpoint.ts';
import { ignoredHeader } from '../../ignored.ts';
import { INTERFACES } from '../../interfaces.ts';
import { parseBody } from '../../parse.ts';
import { encodeEmbeddings } from './encode.ts';
import { EmbeddingsBody, embeddingsTexts } from './schema.ts';

export interface EmbeddingsNeeds {
  readonly embed: Embed;
  /** The one in force now: it changes while the service runs. */
  readonly catalogue: () => Pick<Catalogue, 'resolve'>;
  /** Unknown fields are 400 instead of being named in x-parley-ignored. */
  readonly strict?: boolean;
}

/** POST /compatible-mode/v1/embeddings (wire.md 10). */
export function embeddings({ embed, catalogue, strict = false }: EmbeddingsNeeds): Endpoint {
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
      // An unknown model is told before how many texts it would take.
      catalogue().resolve(model, { interface: 'embeddings', owner: context.owner });
      checkTexts(texts, { model, at: 'input' });
      const wish = {
        model,
        inputs: texts.map((text, at) => ({
          text: text.toWellFormed(),
          field: texts === input ? `input[${at}]` : 'input',
        })),
        ...(typeof dimensions === 'number' ? { dimensions: { count: dimensions, field: 'dimensions' } } : {}),
      };
      const made = await embed(wish, context);
      const head = { requestId: context.requestId, model, format: format ?? 'float' } as const;
      return json(encodeEmbeddings(head, made), ignoredHeader(unknown));
    },
  };
}
