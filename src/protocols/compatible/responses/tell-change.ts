import type { TellChange } from '../../../resources/responses/background.ts';
import { codeAndMessage, status } from '../errors.ts';
import { stateEvent } from './state-event.ts';

/**
 * A response that began, was cancelled or failed without anybody who would have told more of it. `response.incomplete` tells
 * of one that was cancelled, by the status in its object: of the ends that official clients know it is the one that is no fault.
 */
export const tellChange: TellChange = (json, change, sequence) => {
  const response: object = JSON.parse(json);
  if (change.status === 'failed') {
    const failed = JSON.stringify({ ...response, status: 'failed', error: codeAndMessage(change.error) });
    return { json: failed, event: stateEvent('response.failed', failed, sequence, status(change.error.kind)) };
  }
  const changed = JSON.stringify({ ...response, status: change.status });
  const type = change.status === 'cancelled' ? 'response.incomplete' : 'response.in_progress';
  return { json: changed, event: stateEvent(type, changed, sequence) };
};
