import { ServiceError } from '../core/error.ts';

/** Reads a response's whole body as text. @throws ServiceError `upstream-failed` above `charsMax` characters. */
export async function readTextUpTo(response: Response, charsMax: number): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > charsMax) throw new ServiceError('upstream-failed', 'The answer of the server is too large.');
  }
  return text + decoder.decode();
}
