import type { Hash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { ServiceError } from '../core/error.ts';
import { reasonOf } from './hub-connection.ts';

export interface SaveNeeds {
  /** Positioned at the end of what is there already. */
  readonly handle: FileHandle;
  readonly hash: Hash;
  readonly signal: AbortSignal;
  /** The connection is given up after this much silence, in ms. */
  readonly silenceMs: number;
  readonly onBytes: (bytes: number) => void;
}

/**
 * Writes a response's body to a file, hashing on the way; each piece is on disk before the next is read.
 * @throws ServiceError `upstream-failed` when the connection breaks or falls silent; what came until then is written.
 */
export async function saveBody(response: Response, needs: SaveNeeds): Promise<void> {
  const { handle, hash, signal, silenceMs, onBytes } = needs;
  const reader = response.body?.getReader();
  if (!reader) return;
  const leave = (): void => void reader.cancel().catch(() => undefined); // what is left of it is no longer of interest
  let isSilent = false;
  const watch = setTimeout(() => {
    isSilent = true;
    leave();
  }, silenceMs);
  signal.addEventListener('abort', leave);
  const read = async (): Promise<Uint8Array | undefined> => {
    try {
      return (await reader.read()).value;
    } catch (thrown) {
      signal.throwIfAborted();
      throw new ServiceError('upstream-failed', `The download broke off: ${reasonOf(thrown)}.`, { cause: thrown });
    }
  };
  try {
    for (let chunk = await read(); chunk; chunk = await read()) {
      watch.refresh();
      hash.update(chunk);
      await handle.writeFile(chunk);
      onBytes(chunk.byteLength);
    }
  } catch (thrown) {
    leave();
    throw thrown;
  } finally {
    clearTimeout(watch);
    signal.removeEventListener('abort', leave);
  }
  signal.throwIfAborted();
  if (isSilent) throw new ServiceError('upstream-failed', `The download fell silent for ${silenceMs / 1000} s.`);
}
