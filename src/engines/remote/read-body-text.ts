import type { IncomingMessage } from 'node:http';

/**
 * Reads a whole body. Returns undefined and closes the connection when the body is longer than `charactersMax`.
 * @throws the connection's error.
 */
export async function readBodyText(response: IncomingMessage, charactersMax: number): Promise<string | undefined> {
  let text = '';
  response.setEncoding('utf8');
  for await (const chunk of response) {
    text += String(chunk);
    if (text.length > charactersMax) return undefined; // leaving the loop destroys the response
  }
  return text;
}
