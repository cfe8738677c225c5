import { collectResult } from '../../../generation/collect-result.ts';
import type { Generate } from '../../../generation/generation.ts';
import type { Clock } from '../../../lib/clock.ts';
import { createJsonReply, createStreamReply, type Endpoint } from '../../endpoint.ts';
import { encodeIgnoredHeader } from '../../ignored-header.ts';
import { listUnparsedCalls } from '../../unparsed-calls.ts';
import { INTERFACES } from '../../interfaces.ts';
import { parseBody } from '../../parse.ts';
import { resolveBodyModel, type ModelEndpointDeps } from '../../resolve-model.ts';
import { createSearchStreamReply, encodeSearchHeader } from '../../search-outcome.ts';
import { decodeMessagesRequest } from './decode.ts';
import { encodeMessage } from './encode.ts';
import { listIgnoredMessagesFields } from './ignored-fields.ts';
import { checkMessagesRules } from './rules.ts';
import { MessagesBody, createMessagesTexts, ModelOnly } from './schema.ts';
import { createMessageStreamEncoder } from './stream.ts';
import { applyDefaultThinking } from './thinking.ts';

export interface MessagesDeps extends ModelEndpointDeps {
  readonly generate: Generate;
  readonly clock: Pick<Clock, 'now'>;
}

/** Creates POST /apps/anthropic/v1/messages (docs/wire/anthropic-compatible.md#messages-request). */
export function createMessagesEndpoint({ generate, catalogue, clock, strict = false }: MessagesDeps): Endpoint {
  return {
    operation: 'messages.create',
    method: 'POST',
    path: '/apps/anthropic/v1/messages',
    family: 'messages',
    regions: INTERFACES.messages.regions,
    onDisconnect: 'cancel',
    async handle({ body }, context) {
      const { model, resolved } = await resolveBodyModel(
        ModelOnly,
        body,
        { catalogue, interface: 'messages' },
        context,
      );
      const { entry } = resolved;
      const { wire: parsedFields, unknown } = parseBody(MessagesBody, body, {
        texts: createMessagesTexts(entry),
        strict,
      });
      const wire = applyDefaultThinking(parsedFields, entry);
      checkMessagesRules(wire, entry);

      const head = { requestId: context.requestId, model, startedAt: clock.now() };
      const request = decodeMessagesRequest(wire);
      const { batches, ignored } = await generate(request, resolved, context);
      const ignoredNames = [...listIgnoredMessagesFields(wire, ignored), ...unknown];
      if (wire.stream === true) {
        const headers = encodeIgnoredHeader(ignoredNames);
        const encoder = createMessageStreamEncoder(head);
        if (!request.serverTools) return createStreamReply(batches, encoder, headers);
        return createSearchStreamReply(batches, encoder, headers);
      }
      const result = await collectResult(batches);
      return createJsonReply(encodeMessage(head, result), {
        ...encodeIgnoredHeader([...ignoredNames, ...listUnparsedCalls(result)]),
        ...encodeSearchHeader(result),
      });
    },
  };
}
