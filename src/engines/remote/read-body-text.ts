import type { IncomingMessage } from 'node:http';
import { UPSTREAM_BODY_CHARS_MAX } from '../limits.ts';
import type { UpstreamCall } from './upstream-client.ts';

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

/**
 * Reads the body of a call, stops its timer, and maps errors to their cause.
 * @param parse Receives the text; undefined when it is longer than `charactersMax`.
 */
export async function parseCallBody<Result>(
  { response, timer, mapError }: UpstreamCall,
  parse: (text: string | undefined) => Result | Promise<Result>,
  charactersMax = UPSTREAM_BODY_CHARS_MAX,
): Promise<Result> {
  try {
    return await parse(await readBodyText(response, charactersMax));
  } catch (thrown) {
    throw mapError(thrown);
  } finally {
    timer.stop();
  }
}
