import type { Tokenize } from '../../../generation/tokenize.ts';
import { createJsonReply, type Endpoint } from '../../endpoint.ts';
import { encodeIgnoredHeader } from '../../ignored-header.ts';
import { INTERFACES } from '../../interfaces.ts';
import { parseBody } from '../../parse.ts';
import { resolveBodyModel, type ModelEndpointDeps } from '../../resolve-model.ts';
import { createGenerationTexts, ModelOnly } from '../generation/schema.ts';
import { decodeTokenizerInput } from './decode.ts';
import { encodeTokenization } from './encode.ts';
import { TokenizerBody } from './schema.ts';

export interface TokenizerDeps extends ModelEndpointDeps {
  readonly tokenize: Tokenize;
}

/** Creates POST /api/v1/tokenizer (docs/wire/dashscope-native.md#tokenizer). */
export function createTokenizerEndpoint({ tokenize, catalogue, strict = false }: TokenizerDeps): Endpoint {
  return {
    operation: 'tokenizer.create',
    method: 'POST',
    path: '/api/v1/tokenizer',
    family: 'native',
    regions: INTERFACES.tokenizer.regions,
    onDisconnect: 'cancel',
    async handle({ body }, context) {
      const { model, resolved } = await resolveBodyModel(ModelOnly, body, { catalogue, interface: 'native' }, context);
      const { entry } = resolved;
      const { wire, unknown } = parseBody(TokenizerBody, body, { texts: createGenerationTexts(entry), strict });
      const request = { model, input: decodeTokenizerInput(wire, entry) };
      const tokenized = await tokenize(request, resolved, context);
      return createJsonReply(encodeTokenization(tokenized, context.requestId), encodeIgnoredHeader(unknown));
    },
  };
}
