import { BACKGROUND_EVENTS_LOOK_MS, BACKGROUND_EVENTS_PAGE_MAX } from '../../core/limits.ts';
import type { Log } from '../../core/telemetry.ts';
import type { Clock } from '../../lib/clock.ts';
import { every as systemEvery, type Every } from '../../lib/every.ts';
import type { Store } from '../../store/store.ts';

export interface PastEventsNeeds {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
  readonly every?: Every;
}

export interface PastEvents {
  /** Removes nothing more from here on; resolves when what is being removed is. */
  close(): Promise<void>;
}

/** Removes events of responses that ended long enough ago, now and every few minutes. Several processes may do it at once. */
export function startPastEvents({ store, clock, log, every = systemEvery }: PastEventsNeeds): PastEvents {
  let isClosed = false;
  let running: Promise<void> | undefined;

  const sweep = async (): Promise<void> => {
    for (let isMore = true; isMore && !isClosed;) {
      isMore = await store.transaction(async ({ background, responseEvents }) => {
        const past = await background.takePastEvents({ now: clock.now(), limit: BACKGROUND_EVENTS_PAGE_MAX });
        await responseEvents.clear(past);
        return past.length === BACKGROUND_EVENTS_PAGE_MAX;
      });
    }
  };
  const look = (): void => {
    running ??= sweep()
      .catch((error: unknown) => log.warn('events of past responses could not be removed', { error: String(error) }))
      .finally(() => {
        running = undefined;
      });
  };
  const stop = every(BACKGROUND_EVENTS_LOOK_MS, look);
  look();
  return {
    async close() {
      isClosed = true;
      stop();
      await running;
    },
  };
}
