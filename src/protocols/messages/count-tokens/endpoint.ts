import type { CountPrompt } from '../../../generation/count-prompt.ts';
import { createJsonReply, type Endpoint } from '../../endpoint.ts';
import { encodeEstimatedHeader } from '../../estimated-header.ts';
import { encodeIgnoredHeader } from '../../ignored-header.ts';
import { INTERFACES } from '../../interfaces.ts';
import { parseBody } from '../../parse.ts';
import { resolveBodyModel, type ModelEndpointDeps } from '../../resolve-model.ts';
import { decodePrompt } from '../create/decode.ts';
import { listIgnoredMessagesFields } from '../create/ignored-fields.ts';
import { checkPrompt } from '../create/rules.ts';
import { CountBody, createMessagesTexts, ModelOnly } from '../create/schema.ts';
import { applyDefaultThinking } from '../create/thinking.ts';

export interface CountTokensDeps extends ModelEndpointDeps {
  readonly countPrompt: CountPrompt;
}

/** Creates POST /apps/anthropic/v1/messages/count_tokens: counts the prompt tokens of the same messages request. */
export function createCountTokensEndpoint({ countPrompt, catalogue, strict = false }: CountTokensDeps): Endpoint {
  return {
    operation: 'messages.count-tokens',
    method: 'POST',
    path: '/apps/anthropic/v1/messages/count_tokens',
    family: 'messages',
    regions: INTERFACES.countTokens.regions,
    onDisconnect: 'cancel',
    async handle({ body }, context) {
      const { resolved } = await resolveBodyModel(ModelOnly, body, { catalogue, interface: 'messages' }, context);
      const { entry } = resolved;
      const { wire: parsedFields, unknown } = parseBody(CountBody, body, { texts: createMessagesTexts(entry), strict });
      const wire = applyDefaultThinking(parsedFields, entry);
      checkPrompt(wire, entry);
      const { tokens, isEstimated, ignored } = await countPrompt(decodePrompt(wire), resolved, context);
      return createJsonReply(
        { input_tokens: tokens },
        {
          ...encodeIgnoredHeader([...listIgnoredMessagesFields(wire, ignored), ...unknown]),
          ...encodeEstimatedHeader(isEstimated),
        },
      );
    },
  };
}
