import { ServiceError } from '../core/error.ts';

/** A response's whole body as text. @throws ServiceError `upstream-failed` for one that is longer than so many characters. */
export async function readBodyText(response: Response, charactersMax: number): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > charactersMax)
      throw new ServiceError('upstream-failed', 'The page of the package index is too long.');
  }
  return text + decoder.decode();
}
