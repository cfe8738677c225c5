import {
  RESEARCH_UNATTENDED_MS_MAX,
  RESEARCH_RETENTION_MS,
  RESEARCH_CLEANUP_INTERVAL_MS,
  RESEARCH_CLEANUP_PAGE_MAX,
} from './limits.ts';
import type { Log } from '../../../core/telemetry.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { StartInterval } from '../../../lib/start-interval.ts';
import { startPeriodicTask, type PeriodicTask } from '../../../lib/periodic-task.ts';
import type { Store } from '../../../store/store.ts';
import type { ResearchLifecycle } from './research-lifecycle.ts';

export interface ResearchCleanupDeps {
  readonly store: Store;
  readonly lifecycle: Pick<ResearchLifecycle, 'cancelUnread'>;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
  readonly startInterval?: StartInterval;
}

/**
 * Cancels runs that nobody reads, queued ones included, and removes runs that ended more than RESEARCH_RETENTION_MS
 * ago.
 */
export const startResearchCleanup = ({
  store,
  lifecycle,
  clock,
  log,
  startInterval,
}: ResearchCleanupDeps): PeriodicTask =>
  startPeriodicTask({
    intervalMs: RESEARCH_CLEANUP_INTERVAL_MS,
    async run(isClosed) {
      const limit = RESEARCH_CLEANUP_PAGE_MAX;
      const before = clock.now() - RESEARCH_UNATTENDED_MS_MAX;
      for (const id of await store.research.listUnread({ before, limit })) {
        if (isClosed()) return;
        await lifecycle.cancelUnread(id);
      }
      for (const id of await store.research.listFinishedBefore({
        before: clock.now() - RESEARCH_RETENTION_MS,
        limit,
      })) {
        if (isClosed()) return;
        await store.transaction(({ research }) => research.remove(id), { usesReserve: true });
      }
    },
    onFailure: (error) => log.warn('deep research cleanup failed', { error: String(error) }),
    startInterval,
  });
