import type { WebResponse } from './web-fetch.ts';

/** Reads a whole body, whose size the fetch limits. @throws any error of the body. */
export async function readBody({ body }: WebResponse): Promise<Uint8Array<ArrayBuffer>> {
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(piece);
  return new Uint8Array(Buffer.concat(pieces));
}
