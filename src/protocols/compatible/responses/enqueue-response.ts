import type { RequestContext } from '../../../core/context.ts';
import { toUnixSeconds, type Clock } from '../../../lib/clock.ts';
import type { BackgroundResponses } from '../../../resources/responses/background.ts';
import { createJsonReply, createStreamReply, type Reply } from '../../endpoint.ts';
import { encodeIgnoredHeader } from '../../ignored-header.ts';
import type { ParsedResponseRequest } from './parse-response-request.ts';
import { encodeDroppedHeader } from './dropped-header.ts';
import { encodeQueued } from './encode.ts';
import { encodeRequestFields, omitSecrets } from './head.ts';
import { encodeStateEvent } from './state-event.ts';
import { createTailStreamEncoder } from './tail-stream.ts';

interface EnqueueDeps {
  readonly background: Pick<BackgroundResponses, 'checkTurn' | 'enqueue' | 'tail'>;
  readonly clock: Clock;
}

interface QueuedRequest {
  readonly id: string;
  readonly request: ParsedResponseRequest;
  readonly body: unknown;
}

/**
 * Queues a background response. Everything that a live request is rejected for is checked first, except by the engine.
 * @throws ServiceError as a live request.
 */
export async function enqueueResponse(
  { id, request, body }: QueuedRequest,
  { background, clock }: EnqueueDeps,
  { owner, log }: RequestContext,
): Promise<Reply> {
  log.add({ response: id });
  const { wire, resolved, turnRequest } = request;
  const before = await background.checkTurn(owner, turnRequest);
  const { listIgnored } = await request.prepareTurn(before);
  const head = {
    id,
    created: toUnixSeconds(clock.now()),
    model: wire.model,
    requestFields: encodeRequestFields(wire, resolved.entry),
  };
  const response = encodeQueued(head);
  const isStreamed = wire.stream === true;
  const events = ['response.created', 'response.queued'].map((type, sequence) =>
    encodeStateEvent(type, JSON.stringify(response), sequence),
  );
  await background.enqueue(owner, {
    id,
    ...turnRequest,
    body: serializeBody(body, request),
    json: JSON.stringify(response),
    events: isStreamed ? events : undefined,
  });
  const headers = { ...encodeIgnoredHeader(listIgnored([])), ...encodeDroppedHeader(before.olderItems) };
  if (!isStreamed) return createJsonReply(response, headers);
  return createStreamReply(
    await background.tail(owner, id, BEFORE_FIRST_EVENT),
    createTailStreamEncoder(BEFORE_FIRST_EVENT),
    headers,
  );
}

/** Position before the first event of a response. */
const BEFORE_FIRST_EVENT = -1;

/** Serializes the request without credentials of tool servers, which Parley does not call. */
function serializeBody(body: unknown, { wire: { tools } }: ParsedResponseRequest): string {
  return JSON.stringify(tools ? { ...Object(body), tools: tools.map(omitSecrets) } : body);
}
