import type { Catalogue } from '../../../catalogue/model.ts';
import type { Tokenize } from '../../../generation/tokenize.ts';
import { json } from '../../endpoint.ts';
import type { Endpoint } from '../../endpoint.ts';
import { ignoredHeader } from '../../ignored.ts';
import { INTERFACES } from '../../interfaces.ts';
import { parse, parseBody } from '../../parse.ts';
import { generationTexts, ModelOnly } from '../generation/schema.ts';
import { decodeTokenizerInput } from './decode.ts';
import { encodeTokens } from './encode.ts';
import { TokenizerBody } from './schema.ts';

export interface TokenizerNeeds {
  readonly tokenize: Tokenize;
  /** The one in force now: it changes while the service runs. */
  readonly catalogue: () => Pick<Catalogue, 'resolve'>;
  /** Unknown fields are 400 instead of being named in x-parley-ignored. */
  readonly strict?: boolean;
}

/** POST /api/v1/tokenizer (wire.md 10). */
export function tokenizer({ tokenize, catalogue, strict = false }: TokenizerNeeds): Endpoint {
  return {
    operation: 'tokenizer.create',
    method: 'POST',
    path: '/api/v1/tokenizer',
    family: 'native',
    regions: INTERFACES.tokenizer.regions,
    onDisconnect: 'cancel',
    async handle({ body }, context) {
      const { model } = parse(ModelOnly, body);
      const { entry } = catalogue().resolve(model, { interface: 'native', owner: context.owner });
      const { wire, unknown } = parseBody(TokenizerBody, body, { texts: generationTexts(entry), strict });
      const wish = { model, input: decodeTokenizerInput(wire, entry) };
      const tokenized = await tokenize(wish, { interface: 'native' }, context);
      return json(encodeTokens(tokenized, context.requestId), ignoredHeader(unknown));
    },
  };
}
