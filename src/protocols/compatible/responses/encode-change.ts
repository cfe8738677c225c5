import type { EncodeStatusChange } from '../../../resources/responses/background.ts';
import { encodeCodeAndMessage, getStatus } from '../errors.ts';
import { encodeStateEvent } from './state-event.ts';

/**
 * Encodes a response that started, was cancelled or failed outside of its generation. A cancelled one uses the event
 * `response.incomplete` with the status `cancelled`, because official clients know no other final event that is not an
 * error.
 */
export const encodeChange: EncodeStatusChange = (json, change, sequence) => {
  const response: object = JSON.parse(json);
  if (change.status === 'failed') {
    const failed = JSON.stringify({ ...response, status: 'failed', error: encodeCodeAndMessage(change.error) });
    return { json: failed, event: encodeStateEvent('response.failed', failed, sequence, getStatus(change.error.kind)) };
  }
  const changed = JSON.stringify({ ...response, status: change.status });
  const type = change.status === 'cancelled' ? 'response.incomplete' : 'response.in_progress';
  return { json: changed, event: encodeStateEvent(type, changed, sequence) };
};
