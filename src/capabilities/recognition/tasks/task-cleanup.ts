import type { BlobStore } from '../../../blobs/blob-store.ts';
import { TASK_RETENTION_MS, TASK_CLEANUP_INTERVAL_MS, TASK_CLEANUP_PAGE_MAX } from '../limits.ts';
import type { Log } from '../../../core/telemetry.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { StartInterval } from '../../../lib/start-interval.ts';
import { startPeriodicTask } from '../../../lib/periodic-task.ts';
import type { PeriodicTask } from '../../../lib/periodic-task.ts';
import type { Store } from '../../../store/store.ts';

export interface TaskCleanupDeps {
  readonly store: Store;
  readonly blobs: Pick<BlobStore, 'delete'>;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
  readonly startInterval?: StartInterval;
}

/** Removes finished tasks with their transcripts after TASK_RETENTION_MS: at start and periodically. */
export function startTaskCleanup({ store, blobs, clock, log, startInterval }: TaskCleanupDeps): PeriodicTask {
  const remove = async (id: string): Promise<void> => {
    // A process that died may have left downloaded audio.
    for (const { sourceBlob } of await store.transcriptions.listParts(id)) {
      if (sourceBlob !== undefined) await blobs.delete(sourceBlob);
    }
    await store.transaction(
      async ({ tasks, transcriptions, jobs }) => {
        await jobs.remove('transcription', id);
        await transcriptions.remove(id);
        await tasks.remove(id);
      },
      { usesReserve: true },
    );
  };
  return startPeriodicTask({
    intervalMs: TASK_CLEANUP_INTERVAL_MS,
    startInterval,
    onFailure: (error) => log.warn('task cleanup failed', { error: String(error) }),
    async run(isClosed) {
      for (let hasMore = true; hasMore && !isClosed();) {
        const ids = await store.tasks.listFinishedBefore({
          before: clock.now() - TASK_RETENTION_MS,
          limit: TASK_CLEANUP_PAGE_MAX,
        });
        for (const id of ids) await remove(id);
        hasMore = ids.length === TASK_CLEANUP_PAGE_MAX;
      }
    },
  });
}
