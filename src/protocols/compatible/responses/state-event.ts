import { escapeLineSeparators } from '../../../lib/sse.ts';

/**
 * Encodes an event that contains a response object.
 * @param json The object as JSON.
 * @param status HTTP status of a failure.
 */
export function encodeStateEvent(type: string, json: string, sequence: number, status = 200): string {
  const data = `{"type":${JSON.stringify(type)},"response":${json},"sequence_number":${sequence}}`;
  return `id:${sequence + 1}\nevent:${type}\n:HTTP_STATUS/${status}\ndata:${escapeLineSeparators(data)}\n\n`;
}
