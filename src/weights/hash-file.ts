import type { Hash } from 'node:crypto';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';

export interface HashOptions {
  readonly signal?: AbortSignal | undefined;
  /** Taken further; absent: a new SHA-256. */
  readonly hash?: Hash;
}

/** Feeds a whole file to a hash, in pieces: memory does not depend on its size. */
export async function hashFile(path: string, { signal, hash = createHash('sha256') }: HashOptions = {}): Promise<Hash> {
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20, ...(signal ? { signal } : {}) })) {
    hash.update(chunk);
  }
  return hash;
}
