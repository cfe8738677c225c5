import type { IncomingMessage } from 'node:http';

/**
 * The whole of a body; undefined when it is longer than `charactersMax`, and then the connection is closed.
 * @throws what the connection broke with.
 */
export async function bodyText(response: IncomingMessage, charactersMax: number): Promise<string | undefined> {
  let text = '';
  response.setEncoding('utf8');
  for await (const piece of response) {
    text += String(piece);
    if (text.length > charactersMax) return undefined; // leaving the loop destroys the response
  }
  return text;
}
