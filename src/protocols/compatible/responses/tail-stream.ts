import { escapeLineEnds, sseComment } from '../../../lib/sse.ts';
import type { StreamEncoder } from '../../stream-encoder.ts';
import { codeAndMessage, status } from '../errors.ts';
import { EVENT_STREAM } from './stream.ts';

const SEQUENCE = /"sequence_number":(\d+)\}\n\n$/;

/**
 * Events that are frames already. It ends where they do: whoever was cut off before asks for what comes behind.
 *
 * @param after Number of the event behind which it begins.
 */
export function tailStream(after: number): StreamEncoder<string> {
  let last = '';
  return {
    contentType: EVENT_STREAM,
    open: () => '',
    push(events) {
      last = events.at(-1) ?? last;
      return events.join('');
    },
    keepAlive: () => sseComment('keep-alive'),
    fail(error) {
      // None of the response's own events: its number is that of the last one, behind which a reader goes on.
      const { code, message } = codeAndMessage(error);
      const sequence = Number(SEQUENCE.exec(last)?.[1] ?? Math.max(0, after));
      const data = JSON.stringify({ type: 'error', code, message, param: null, sequence_number: sequence });
      return `event:error\n:HTTP_STATUS/${status(error.kind)}\ndata:${escapeLineEnds(data)}\n\n`;
    },
    close: () => '',
  };
}
