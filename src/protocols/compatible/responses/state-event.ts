import { escapeLineEnds } from '../../../lib/sse.ts';

/** An event that tells a response's object, which is JSON already. @param status Of what went wrong, where something did. */
export function stateEvent(type: string, json: string, sequence: number, status = 200): string {
  const data = `{"type":${JSON.stringify(type)},"response":${json},"sequence_number":${sequence}}`;
  return `id:${sequence + 1}\nevent:${type}\n:HTTP_STATUS/${status}\ndata:${escapeLineEnds(data)}\n\n`;
}
