import type { Catalogue } from '../../../catalogue/model.ts';
import { ServiceError } from '../../../core/error.ts';
import type { Embed } from '../../../generation/embed.ts';
import { checkTexts } from '../../fields/embedding-texts.ts';
import { json } from '../../endpoint.ts';
import type { Endpoint } from '../../endpoint.ts';
import { ignoredHeader } from '../../ignored.ts';
import { INTERFACES } from '../../interfaces.ts';
import { parseBody } from '../../parse.ts';
import { refuseAsync } from '../refuse-async.ts';
import { encodeTextEmbedding } from './encode.ts';
import { TextEmbeddingBody, textEmbeddingTexts } from './schema.ts';
import type { TextEmbeddingWire } from './schema.ts';

export interface TextEmbeddingNeeds {
  readonly embed: Embed;
  /** The one in force now: it changes while the service runs. */
  readonly catalogue: () => Pick<Catalogue, 'resolve'>;
  /** Unknown fields are 400 instead of being named in x-parley-ignored. */
  readonly strict?: boolean;
}

/** POST /api/v1/services/embeddings/text-embedding/text-embedding (wire.md 10). */
export function textEmbedding({ embed, catalogue, strict = false }: TextEmbeddingNeeds): Endpoint {
  return {
    operation: 'text-embedding.create',
    method: 'POST',
    path: '/api/v1/services/embeddings/text-embedding/text-embedding',
    family: 'native',
    regions: INTERFACES.nativeEmbeddings.regions,
    onDisconnect: 'cancel',
    async handle({ body, headers }, context) {
      refuseAsync({ headers });
      const { wire, unknown } = parseBody(TextEmbeddingBody, body, { texts: textEmbeddingTexts, strict });
      const { model, input, parameters } = wire;
      // An unknown model is told before how many texts it would take.
      catalogue().resolve(model, { interface: 'embeddings', owner: context.owner });
      checkTexts(input.texts, { model, at: 'input.texts' });
      checkOutput(parameters);
      const dimension = parameters?.dimension;
      const wish = {
        model,
        inputs: input.texts.map((text, at) => ({ text: text.toWellFormed(), field: `input.texts[${at}]` })),
        ...(typeof dimension === 'number' ? { dimensions: { count: dimension, field: 'parameters.dimension' } } : {}),
      };
      const made = await embed(wish, context);
      return json(
        encodeTextEmbedding(made, context.requestId),
        ignoredHeader([...ignoredParameters(parameters), ...unknown]),
      );
    },
  };
}

function checkOutput(parameters: TextEmbeddingWire['parameters']): void {
  const type = parameters?.output_type ?? 'dense';
  if (type === 'dense') return;
  const param = 'parameters.output_type';
  throw new ServiceError('unsupported', `Only dense vectors are made here. (${param}: "${type}")`, { param });
}

/** No model here reads a question otherwise than a document, or an instruction beside the text. */
const ignoredParameters = (parameters: TextEmbeddingWire['parameters']): readonly string[] => [
  ...(parameters?.text_type === 'query' ? ['parameters.text_type'] : []),
  ...(parameters?.instruct ? ['parameters.instruct'] : []),
];
