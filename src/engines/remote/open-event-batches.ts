import type { IncomingMessage } from 'node:http';
import { UPSTREAM_BODY_CHARS_MAX } from '../limits.ts';
import { parseCallBody } from './read-body-text.ts';
import type { UpstreamCall, UpstreamClient } from './upstream-client.ts';
import { readEventStream } from './read-event-stream.ts';
import type { ResponseParser } from './response-parser.ts';
import { readErrorResponse } from './read-error-response.ts';

/**
 * Returns the events of a response, streamed or not, in batches of events that arrived together. Resolves when the head
 * of a stream has arrived, or when an unstreamed response was read.
 *
 * @throws ServiceError for any status but 200, and for an invalid unstreamed response.
 */
export async function openEventBatches<Event>(
  call: UpstreamCall,
  parser: ResponseParser<Event>,
  client: Pick<UpstreamClient, 'errors' | 'timeouts'>,
): Promise<AsyncIterable<readonly Event[]>> {
  if (call.response.statusCode !== 200) throw await readErrorResponse(call, client.errors);
  if (parseMediaType(call.response) === 'text/event-stream') return readEventStream(call, parser, client);
  return yieldOnce(await readWholeResponse(call, parser, client));
}

const parseMediaType = ({ headers }: IncomingMessage): string =>
  (headers['content-type'] ?? '').split(';', 1).join().trim().toLowerCase();

/** Reads an unstreamed response and returns its events. */
async function readWholeResponse<Event>(
  call: UpstreamCall,
  parser: ResponseParser<Event>,
  { errors }: Pick<UpstreamClient, 'errors'>,
): Promise<Event[]> {
  const events: Event[] = [];
  return await parseCallBody(call, async (text) => {
    if (text === undefined) throw errors.createFailure(`sent more than ${UPSTREAM_BODY_CHARS_MAX} characters`);
    if (text.trim() === '') throw errors.createFailure('answered 200 with an empty body');
    call.timer.stop();
    parser.push(text, (event) => events.push(event));
    parser.end((event) => events.push(event));
    return [...events, ...((await parser.readTrailingEvents?.()) ?? [])];
  });
}

async function* yieldOnce<T>(batch: T): AsyncGenerator<T, void> {
  yield batch;
}
