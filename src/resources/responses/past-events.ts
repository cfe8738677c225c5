import { BACKGROUND_EVENTS_LOOK_MS, BACKGROUND_EVENTS_PAGE_MAX } from '../../core/limits.ts';
import type { Log } from '../../core/telemetry.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Every } from '../../lib/every.ts';
import { startSweeper, type Sweeper } from '../../lib/sweeper.ts';
import type { Store } from '../../store/store.ts';

export interface PastEventsNeeds {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
  readonly every?: Every;
}

/** Removes events of responses that ended long enough ago, now and every few minutes. Several processes may do it at once. */
export const startPastEvents = ({ store, clock, log, every }: PastEventsNeeds): Sweeper =>
  startSweeper({
    everyMs: BACKGROUND_EVENTS_LOOK_MS,
    async sweep(isOver) {
      for (let isMore = true; isMore && !isOver();) {
        isMore = await store.transaction(async ({ background, responseEvents }) => {
          const past = await background.takePastEvents({ now: clock.now(), limit: BACKGROUND_EVENTS_PAGE_MAX });
          await responseEvents.clear(past);
          return past.length === BACKGROUND_EVENTS_PAGE_MAX;
        });
      }
    },
    onFailure: (error) => log.warn('events of past responses could not be removed', { error: String(error) }),
    every,
  });
