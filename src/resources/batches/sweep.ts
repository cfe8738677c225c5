import { setImmediate as turnOfOthers } from 'node:timers/promises';
import { BATCH_RESULTS_REMOVED_MAX, FILE_LOOK_MS, FILE_SWEEP_PAGE_MAX } from '../../core/limits.ts';
import type { Log } from '../../core/telemetry.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Every } from '../../lib/every.ts';
import { startSweeper, type Sweeper } from '../../lib/sweeper.ts';
import type { Store } from '../../store/store.ts';

export interface BatchSweepNeeds {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
  readonly every?: Every;
}

/** Removes the lines of batches whose process ended before it could: now and from time to time. One process does it. */
export const startBatchSweep = ({ log, every, ...needs }: BatchSweepNeeds): Sweeper =>
  startSweeper({
    everyMs: FILE_LOOK_MS,
    sweep: (isOver) => sweepLines(needs, isOver),
    onFailure: (error) => log.warn('lines of batches could not be swept', { error: String(error) }),
    every,
  });

/** @returns of how many batches. */
export async function sweepLines(
  { store, clock }: Pick<BatchSweepNeeds, 'store' | 'clock'>,
  isOver: () => boolean = () => false,
): Promise<number> {
  // Whoever ended them is at it.
  const before = clock.now() - FILE_LOOK_MS;
  const ids = await store.batches.listWithLines({ before, limit: FILE_SWEEP_PAGE_MAX });
  let swept = 0;
  for (const id of ids) {
    if (isOver()) break;
    await removeLines(store, id);
    swept += 1;
  }
  return swept;
}

/** Of a batch that has ended: in small steps, so that nobody waits for long. */
export async function removeLines(store: Store, id: string): Promise<void> {
  while ((await store.batchLines.remove(id, BATCH_RESULTS_REMOVED_MAX)) === BATCH_RESULTS_REMOVED_MAX) {
    await turnOfOthers();
  }
  await store.batches.forgetLines(id);
}
