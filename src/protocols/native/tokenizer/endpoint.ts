import type { Catalogue } from '../../../catalogue/model.ts';
import type { Tokenize } from '../../../generation/tokenize.ts';
import { createJsonReply } from '../../endpoint.ts';
import type { Endpoint } from '../../endpoint.ts';
import { encodeIgnoredHeader } from '../../ignored-header.ts';
import { INTERFACES } from '../../interfaces.ts';
import { parseValue, parseBody } from '../../parse.ts';
import { createGenerationTexts, ModelOnly } from '../generation/schema.ts';
import { decodeTokenizerInput } from './decode.ts';
import { encodeTokenization } from './encode.ts';
import { TokenizerBody } from './schema.ts';

export interface TokenizerDeps {
  readonly tokenize: Tokenize;
  /** Returns the current catalogue, which changes while the service runs. */
  readonly catalogue: () => Pick<Catalogue, 'resolve'>;
  /** Rejects unknown fields with 400 instead of naming them in x-parley-ignored. */
  readonly strict?: boolean;
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
      const { model } = parseValue(ModelOnly, body);
      const { entry } = catalogue().resolve(model, { interface: 'native', owner: context.owner });
      const { wire, unknown } = parseBody(TokenizerBody, body, { texts: createGenerationTexts(entry), strict });
      const request = { model, input: decodeTokenizerInput(wire, entry) };
      const tokenized = await tokenize(request, { interface: 'native' }, context);
      return createJsonReply(encodeTokenization(tokenized, context.requestId), encodeIgnoredHeader(unknown));
    },
  };
}
