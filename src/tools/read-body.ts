import type { WebAnswer } from './web-fetch.ts';

/** All of a body whose size is bounded already. @throws what its reading throws. */
export async function readBody({ body }: WebAnswer): Promise<Uint8Array<ArrayBuffer>> {
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(piece);
  return new Uint8Array(Buffer.concat(pieces));
}
