import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { FILE_CLEANUP_INTERVAL_MS, FILE_CLEANUP_PAGE_MAX } from '../limits.ts';
import { BATCH_RESULTS_REMOVED_MAX } from './limits.ts';
import type { Log } from '../../core/telemetry.ts';
import type { Clock } from '../../lib/clock.ts';
import { startPeriodicTask, type PeriodicTask } from '../../lib/periodic-task.ts';
import type { Store } from '../../store/store.ts';

export interface BatchCleanupDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
}

/**
 * Removes stored lines of finished batches whose process ended before it could: at start and periodically, in one
 * process.
 */
export const startBatchCleanup = ({ log, ...deps }: BatchCleanupDeps): PeriodicTask =>
  startPeriodicTask({
    intervalMs: FILE_CLEANUP_INTERVAL_MS,
    run: (isClosed) => removeFinishedLines(deps, isClosed),
    onFailure: (error) => log.warn('batch line cleanup failed', { error: String(error) }),
  });

/** @returns the number of batches whose lines were removed. */
export async function removeFinishedLines(
  { store, clock }: Pick<BatchCleanupDeps, 'store' | 'clock'>,
  isClosed: () => boolean = () => false,
): Promise<number> {
  // The process that finished a batch recently may still be removing its lines.
  const before = clock.now() - FILE_CLEANUP_INTERVAL_MS;
  const ids = await store.batches.listWithStoredLines({ before, limit: FILE_CLEANUP_PAGE_MAX });
  let removed = 0;
  for (const id of ids) {
    if (isClosed()) break;
    await removeLines(store, id);
    removed += 1;
  }
  return removed;
}

/** Removes the stored lines of a finished batch in small transactions, so that other writers do not wait long. */
export async function removeLines(store: Store, id: string): Promise<void> {
  while ((await store.batchLines.remove(id, BATCH_RESULTS_REMOVED_MAX)) === BATCH_RESULTS_REMOVED_MAX) {
    await yieldToEventLoop();
  }
  await store.batches.markLinesRemoved(id);
}
