import type { BlobStore } from '../../blobs/blob-store.ts';
import { TASK_KEPT_MS, TASK_LOOK_MS, TASK_SWEEP_PAGE_MAX } from '../../core/limits.ts';
import type { Log } from '../../core/telemetry.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Every } from '../../lib/every.ts';
import { startSweeper } from '../../lib/sweeper.ts';
import type { Sweeper } from '../../lib/sweeper.ts';
import type { Store } from '../../store/store.ts';

export interface TaskSweepNeeds {
  readonly store: Store;
  readonly blobs: Pick<BlobStore, 'delete'>;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
  readonly every?: Every;
}

/** Removes tasks that ended long enough ago, with all that they heard: now and from time to time. */
export function startTaskSweep({ store, blobs, clock, log, every }: TaskSweepNeeds): Sweeper {
  const remove = async (id: string): Promise<void> => {
    // A process that died may have left what it fetched.
    for (const { sourceBlob } of await store.transcriptions.parts(id)) {
      if (sourceBlob !== undefined) await blobs.delete(sourceBlob);
    }
    await store.transaction(async ({ tasks, transcriptions, jobs }) => {
      await jobs.remove('transcription', id);
      await transcriptions.remove(id);
      await tasks.remove(id);
    });
  };
  return startSweeper({
    everyMs: TASK_LOOK_MS,
    every,
    onFailure: (error) => log.warn('past tasks could not be removed', { error: String(error) }),
    async sweep(isOver) {
      for (let isMore = true; isMore && !isOver();) {
        const ids = await store.tasks.listEnded({ before: clock.now() - TASK_KEPT_MS, limit: TASK_SWEEP_PAGE_MAX });
        for (const id of ids) await remove(id);
        isMore = ids.length === TASK_SWEEP_PAGE_MAX;
      }
    },
  });
}
