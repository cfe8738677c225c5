import { RESEARCH_ATTACH_MS, RESEARCH_KEPT_MS, RESEARCH_SWEEP_MS, RESEARCH_SWEEP_PAGE_MAX } from '../../core/limits.ts';
import type { Log } from '../../core/telemetry.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Every } from '../../lib/every.ts';
import { startSweeper, type Sweeper } from '../../lib/sweeper.ts';
import type { Store } from '../../store/store.ts';
import type { ResearchWork } from './research-work.ts';

export interface ResearchSweepNeeds {
  readonly store: Store;
  readonly work: Pick<ResearchWork, 'cancelUnread'>;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
  readonly every?: Every;
}

/** Cancels runs that nobody reads, also those that wait for their turn, and removes those that ended long enough ago. */
export const startResearchSweep = ({ store, work, clock, log, every }: ResearchSweepNeeds): Sweeper =>
  startSweeper({
    everyMs: RESEARCH_SWEEP_MS,
    async sweep(isOver) {
      const limit = RESEARCH_SWEEP_PAGE_MAX;
      const before = clock.now() - RESEARCH_ATTACH_MS;
      for (const id of await store.research.listUnread({ before, limit })) {
        if (isOver()) return;
        await work.cancelUnread(id);
      }
      for (const id of await store.research.listPast({ before: clock.now() - RESEARCH_KEPT_MS, limit })) {
        if (isOver()) return;
        await store.transaction(({ research }) => research.remove(id));
      }
    },
    onFailure: (error) => log.warn('runs of deep research could not be swept', { error: String(error) }),
    every,
  });
