import type { IdGenerator } from '../../../core/id.ts';
import type { CountPrompt } from '../../../generation/count-prompt.ts';
import type { Responses } from '../../../resources/responses/response.ts';
import { createJsonReply, type Endpoint } from '../../endpoint.ts';
import { encodeEstimatedHeader } from '../../estimated-header.ts';
import { encodeIgnoredHeader } from '../../ignored-header.ts';
import { INTERFACES } from '../../interfaces.ts';
import { parseResponseRequest, type ResponseRequestDeps } from './parse-response-request.ts';
import { encodeDroppedHeader } from './dropped-header.ts';

interface InputTokensDeps extends Pick<ResponseRequestDeps, 'catalogue' | 'findDocument'> {
  readonly responses: Pick<Responses, 'readHistory' | 'findItems'>;
  readonly countPrompt: CountPrompt;
  readonly ids: Pick<IdGenerator, 'createSortableId'>;
  readonly strict?: boolean;
}

/**
 * Creates POST /compatible-mode/v1/responses/input_tokens: counts the prompt tokens of a request with its whole
 * history, whatever `truncation` would drop (docs/wire/openai-compatible.md#responses-routes).
 */
export function createInputTokensEndpoint({ countPrompt, strict = false, ...deps }: InputTokensDeps): Endpoint {
  return {
    operation: 'responses.input-tokens',
    method: 'POST',
    path: '/compatible-mode/v1/responses/input_tokens',
    family: 'compatible',
    regions: INTERFACES.responses.regions,
    onDisconnect: 'cancel',
    async handle({ body }, context) {
      const request = await parseResponseRequest(body, { ...deps, strict }, context);
      const before = await deps.responses.readHistory(context.owner, request.turnRequest);
      const { withoutOldestTurns, listIgnored } = await request.prepareTurn(before);
      const {
        tokens,
        isEstimated,
        ignored: ignoredByModel,
      } = await countPrompt(withoutOldestTurns(0), request.resolved, context);
      const headers = {
        ...encodeIgnoredHeader(listIgnored(ignoredByModel)),
        ...encodeDroppedHeader(before.olderItems),
        ...encodeEstimatedHeader(isEstimated),
      };
      return createJsonReply({ object: 'response.input_tokens', input_tokens: tokens }, headers);
    },
  };
}
