import { createHash } from 'node:crypto';

export interface StreamHash {
  readonly sizeBytes: number;
  /** Lower-case hex. */
  readonly sha256: string;
  readonly md5: string;
}

/** Passes a stream on and hashes it. `getHash` returns size and hashes of what has passed; call it once. */
export function hashStream(
  source: AsyncIterable<Uint8Array>,
  onBytes: (bytes: number) => void = () => undefined,
): { readonly stream: AsyncGenerator<Uint8Array>; readonly getHash: () => StreamHash } {
  const sha256 = createHash('sha256');
  const md5 = createHash('md5');
  let sizeBytes = 0;
  async function* pass(): AsyncGenerator<Uint8Array> {
    for await (const piece of source) {
      sizeBytes += piece.byteLength;
      sha256.update(piece);
      md5.update(piece);
      onBytes(piece.byteLength);
      yield piece;
    }
  }
  return { stream: pass(), getHash: () => ({ sizeBytes, sha256: sha256.digest('hex'), md5: md5.digest('hex') }) };
}

/** Reads a stream to its end for its size and hashes. */
export async function readHash(
  source: AsyncIterable<Uint8Array>,
  onBytes?: (bytes: number) => void,
): Promise<StreamHash> {
  const { stream, getHash } = hashStream(source, onBytes);
  for await (const _ of stream);
  return getHash();
}
