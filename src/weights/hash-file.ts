import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';

export interface HashFileOptions {
  readonly signal?: AbortSignal | undefined;
  /** Hash to continue. Default: a new SHA-256. */
  readonly hash?: Hash;
}

/** Feeds a whole file to a hash in chunks, so that memory use does not depend on the file's size. */
export async function hashFile(
  path: string,
  { signal, hash = createHash('sha256') }: HashFileOptions = {},
): Promise<Hash> {
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20, ...(signal ? { signal } : {}) })) {
    hash.update(chunk);
  }
  return hash;
}
