import type { IncomingMessage } from 'node:http';
import { UPSTREAM_BODY_CHARACTERS_MAX } from '../../core/limits.ts';
import { bodyText } from './body-text.ts';
import type { Call, Connection } from './connection.ts';
import { eventStream } from './event-stream.ts';
import type { Answer } from './event-stream.ts';
import { refusalOf } from './refusal.ts';

/**
 * The events of a call's answer, streamed or not; what arrived together is one batch. Resolves with the head of a stream;
 * an answer that was not streamed is read first.
 *
 * @throws ServiceError for any status but 200, and for an unstreamed answer that is none.
 */
export async function batchesOf<Event>(
  call: Call,
  answer: Answer<Event>,
  connection: Pick<Connection, 'faults' | 'timeouts'>,
): Promise<AsyncIterable<readonly Event[]>> {
  if (call.response.statusCode !== 200) throw await refusalOf(call, connection.faults);
  if (mediaType(call.response) === 'text/event-stream') return eventStream(call, answer, connection);
  return one(await wholeAnswer(call, answer, connection));
}

const mediaType = ({ headers }: IncomingMessage): string =>
  (headers['content-type'] ?? '').split(';', 1).join().trim().toLowerCase();

/** A server that did not stream: the same events, all at once. */
async function wholeAnswer<Event>(
  { response, watch, why }: Call,
  answer: Answer<Event>,
  { faults }: Pick<Connection, 'faults'>,
): Promise<Event[]> {
  const events: Event[] = [];
  try {
    const text = await bodyText(response, UPSTREAM_BODY_CHARACTERS_MAX);
    if (text === undefined) throw faults.failed(`sent more than ${UPSTREAM_BODY_CHARACTERS_MAX} characters`);
    if (text.trim() === '') throw faults.failed('answered 200 with nothing');
    watch.rest();
    answer.push(text, (event) => events.push(event));
    answer.end((event) => events.push(event));
    return [...events, ...((await answer.late?.()) ?? [])];
  } catch (thrown) {
    throw why(thrown);
  } finally {
    watch.rest();
  }
}

async function* one<T>(batch: T): AsyncGenerator<T, void> {
  yield batch;
}
