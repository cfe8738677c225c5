import { BACKGROUND_EVENTS_CLEANUP_INTERVAL_MS, BACKGROUND_EVENTS_PAGE_MAX } from './limits.ts';
import type { Log } from '../../core/telemetry.ts';
import type { Clock } from '../../lib/clock.ts';
import type { StartInterval } from '../../lib/start-interval.ts';
import { startPeriodicTask, type PeriodicTask } from '../../lib/periodic-task.ts';
import type { Store } from '../../store/store.ts';

export interface EventCleanupDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
  readonly startInterval?: StartInterval;
}

/** Removes events of responses that ended long ago, at start and every few minutes. Several processes may run it. */
export const startEventCleanup = ({ store, clock, log, startInterval }: EventCleanupDeps): PeriodicTask =>
  startPeriodicTask({
    intervalMs: BACKGROUND_EVENTS_CLEANUP_INTERVAL_MS,
    async run(isClosed) {
      for (let hasMore = true; hasMore && !isClosed();) {
        hasMore = await store.transaction(
          async ({ background, responseEvents }) => {
            const expired = await background.takeRunsWithExpiredEvents({
              now: clock.now(),
              limit: BACKGROUND_EVENTS_PAGE_MAX,
            });
            await responseEvents.removeAll(expired);
            return expired.length === BACKGROUND_EVENTS_PAGE_MAX;
          },
          { usesReserve: true },
        );
      }
    },
    onFailure: (error) => log.warn('response event cleanup failed', { error: String(error) }),
    startInterval,
  });
