import { escapeLineSeparators, encodeSseComment } from '../../../lib/sse.ts';
import type { StreamEncoder } from '../../stream-encoder.ts';
import { encodeCodeAndMessage, getStatus } from '../errors.ts';
import { EVENT_STREAM } from './stream.ts';

const SEQUENCE_PATTERN = /"sequence_number":(\d+)\}\n\n$/;

/**
 * Creates the encoder for events that are already frames. The stream ends with the last event; a reader that was
 * disconnected continues with `starting_after`.
 *
 * @param after Sequence number of the event before the first one.
 */
export function createTailStreamEncoder(after: number): StreamEncoder<string> {
  let last = '';
  return {
    contentType: EVENT_STREAM,
    open: () => '',
    push(events) {
      last = events.at(-1) ?? last;
      return events.join('');
    },
    keepAlive: () => encodeSseComment('keep-alive'),
    fail(error) {
      // This is no event of the response, so it repeats the last sequence number, after which a reader continues.
      const { code, message } = encodeCodeAndMessage(error);
      const sequence = Number(SEQUENCE_PATTERN.exec(last)?.[1] ?? Math.max(0, after));
      const data = JSON.stringify({ type: 'error', code, message, param: null, sequence_number: sequence });
      return `event:error\n:HTTP_STATUS/${getStatus(error.kind)}\ndata:${escapeLineSeparators(data)}\n\n`;
    },
    close: () => '',
  };
}
