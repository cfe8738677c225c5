import type { Hash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { ServiceError } from '../core/error.ts';
import { describeFetchError } from './request-hub-file.ts';

export interface SaveBodyOptions {
  /** File that is positioned at the end of its content. */
  readonly handle: FileHandle;
  readonly hash: Hash;
  readonly signal: AbortSignal;
  /** Time without a byte after which the connection is closed, in ms. */
  readonly stallMs: number;
  readonly onBytes: (bytes: number) => void;
}

/**
 * Writes a response's body to a file and feeds it to the hash; each chunk is written before the next is read.
 * @throws ServiceError `upstream-failed` when the connection breaks or stalls; the bytes received before are written.
 */
export async function saveBody(response: Response, options: SaveBodyOptions): Promise<void> {
  const { handle, hash, signal, stallMs, onBytes } = options;
  const reader = response.body?.getReader();
  if (!reader) return;
  const cancelBody = (): void => void reader.cancel().catch(() => undefined);
  let isStalled = false;
  const stallTimer = setTimeout(() => {
    isStalled = true;
    cancelBody();
  }, stallMs);
  signal.addEventListener('abort', cancelBody);
  const read = async (): Promise<Uint8Array | undefined> => {
    try {
      return (await reader.read()).value;
    } catch (thrown) {
      signal.throwIfAborted();
      throw new ServiceError('upstream-failed', `The download was interrupted: ${describeFetchError(thrown)}.`, {
        cause: thrown,
      });
    }
  };
  try {
    for (let chunk = await read(); chunk; chunk = await read()) {
      stallTimer.refresh();
      hash.update(chunk);
      await handle.writeFile(chunk);
      onBytes(chunk.byteLength);
    }
  } catch (thrown) {
    cancelBody();
    throw thrown;
  } finally {
    clearTimeout(stallTimer);
    signal.removeEventListener('abort', cancelBody);
  }
  signal.throwIfAborted();
  if (isStalled) throw new ServiceError('upstream-failed', `The download stalled for ${stallMs / 1000} s.`);
}
