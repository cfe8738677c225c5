import type { Catalogue } from '../../../catalogue/model.ts';
import type { CountPrompt } from '../../../generation/count-prompt.ts';
import { json } from '../../endpoint.ts';
import type { Endpoint } from '../../endpoint.ts';
import { ignoredHeader } from '../../ignored.ts';
import { INTERFACES } from '../../interfaces.ts';
import { parse, parseBody } from '../../parse.ts';
import { decodePrompt } from '../create/decode.ts';
import { ignoredFields } from '../create/ignored-fields.ts';
import { checkPrompt } from '../create/rules.ts';
import { CountBody, messagesTexts, ModelOnly } from '../create/schema.ts';
import { withDefaultThinking } from '../create/thinking.ts';

export interface CountTokensNeeds {
  readonly countPrompt: CountPrompt;
  /** The one in force now: it changes while the service runs. */
  readonly catalogue: () => Pick<Catalogue, 'resolve'>;
  /** Unknown fields are 400 instead of being named in x-parley-ignored. */
  readonly strict?: boolean;
}

/** POST /apps/anthropic/v1/messages/count_tokens (wire.md E3.5): the tokens that the same request would be charged for. */
export function countTokens({ countPrompt, catalogue, strict = false }: CountTokensNeeds): Endpoint {
  return {
    operation: 'messages.count-tokens',
    method: 'POST',
    path: '/apps/anthropic/v1/messages/count_tokens',
    family: 'messages',
    regions: INTERFACES.countTokens.regions,
    onDisconnect: 'cancel',
    async handle({ body }, context) {
      const { model } = parse(ModelOnly, body);
      const { entry } = catalogue().resolve(model, { interface: 'messages', owner: context.owner });
      const { wire: said, unknown } = parseBody(CountBody, body, { texts: messagesTexts(entry), strict });
      const wire = withDefaultThinking(said, entry);
      checkPrompt(wire, entry);
      const { tokens, ignored } = await countPrompt(decodePrompt(wire), { interface: 'messages' }, context);
      return json({ input_tokens: tokens }, ignoredHeader([...ignoredFields(wire, ignored), ...unknown]));
    },
  };
}
