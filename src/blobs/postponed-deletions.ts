import type { Log } from '../core/telemetry.ts';
import { startInterval as startSystemInterval, type StartInterval } from '../lib/start-interval.ts';
import type { BlobStore } from './blob-store.ts';
import { POSTPONED_DELETION_POLL_MS } from './limits.ts';

export interface PostponedDeletionsOptions {
  /** Whether blobs must stay for now, because a backup copies them. Called before each deletion. */
  readonly isHeld: () => boolean;
  readonly log: Pick<Log, 'warn'>;
  readonly startInterval?: StartInterval;
}

/**
 * Wraps a blob store so that a deletion during a backup takes place after the backup: rows that refer to the blob are
 * in the database copy of the backup. The wrapped store reports such a deletion as done. A process that ends before it
 * made the deletion leaves a blob without a row, which garbage collection removes.
 */
export function postponeDeletions(
  blobs: BlobStore,
  { isHeld, log, startInterval = startSystemInterval }: PostponedDeletionsOptions,
): BlobStore {
  const postponed = new Set<string>();
  let stop: (() => void) | undefined;
  let running: Promise<void> = Promise.resolve();

  const stopPolling = (): void => {
    stop?.();
    stop = undefined;
  };
  const deletePostponed = async (): Promise<void> => {
    for (const name of postponed) {
      if (isHeld()) return;
      postponed.delete(name);
      await blobs.delete(name).catch((error: unknown) => {
        log.warn('postponed deletion of a blob failed; garbage collection repeats it', { error: String(error) });
      });
    }
    if (postponed.size === 0) stopPolling();
  };
  const poll = (): void => {
    running = running.then(deletePostponed);
  };

  return {
    put(name, source, options) {
      postponed.delete(name);
      return blobs.put(name, source, options);
    },
    read: (name, range) => blobs.read(name, range),
    async delete(name) {
      if (!isHeld()) return await blobs.delete(name);
      postponed.add(name);
      stop ??= startInterval(POSTPONED_DELETION_POLL_MS, poll);
    },
    abortUpload: (name) => blobs.abortUpload(name),
    list: () => blobs.list(),
    removeStaleUploads: (before) => blobs.removeStaleUploads(before),
    async close() {
      stopPolling();
      await running;
      await deletePostponed();
      await blobs.close();
    },
  };
}
