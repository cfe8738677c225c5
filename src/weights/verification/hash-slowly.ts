import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

export interface HashRequest {
  readonly path: string;
  /** Bytes to read per second, at most. */
  readonly bytesPerSecond: number;
}

/** Bytes between two pauses. */
const CHUNK_BYTES = 1024 * 1024;

/** Returns the SHA-256 of a file, which it reads at a bounded rate. @param pause Waits for some ms; replaced in tests. */
export async function hashSlowly(
  { path, bytesPerSecond }: HashRequest,
  pause: (ms: number) => Promise<unknown> = delay,
  now: () => number = () => performance.now(),
): Promise<string> {
  const hash = createHash('sha256');
  const startedAt = now();
  let doneBytes = 0;
  for await (const chunk of createReadStream(path, { highWaterMark: CHUNK_BYTES })) {
    hash.update(chunk as Buffer);
    doneBytes += (chunk as Buffer).length;
    const aheadMs = (doneBytes / bytesPerSecond) * 1000 - (now() - startedAt);
    if (aheadMs > 0) await pause(aheadMs);
  }
  return hash.digest('hex');
}
