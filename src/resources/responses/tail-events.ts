import { BACKGROUND_CHUNKS_MAX, BACKGROUND_POLL_MS } from './limits.ts';
import { ServiceError } from '../../core/error.ts';
import type { StartInterval } from '../../lib/start-interval.ts';
import type { Tables } from '../../store/store.ts';
import { throwResponseNotFound } from '../conversations/not-found.ts';
import type { RunNotifier } from './run-notifier.ts';

export interface EventTailDeps {
  readonly store: Pick<Tables, 'background' | 'responseEvents'>;
  readonly notifier: Pick<RunNotifier, 'subscribe'>;
  readonly startInterval: StartInterval;
}

/**
 * Yields the stored events with a number above `after` until the response ends. Events are stored before any reader
 * gets them, so that all readers in all processes see the same events, wherever they start.
 */
export async function* tailEvents(
  { store, notifier, startInterval }: EventTailDeps,
  id: string,
  after: number,
): AsyncGenerator<string[]> {
  let next = after + 1;
  let hasChanged = false;
  let wake: (() => void) | undefined;
  const onChange = (): void => {
    hasChanged = true;
    wake?.();
  };
  const stops = [notifier.subscribe(id, onChange), startInterval(BACKGROUND_POLL_MS, onChange)];
  try {
    for (;;) {
      hasChanged = false;
      // Read the state before the events: if the response has ended, this is the final number of events.
      const run = (await store.background.findSummary(id)) ?? throwResponseNotFound(id);
      if (next <= run.lastSequence) {
        const chunks = await store.responseEvents.read(id, { from: next, chunksMax: BACKGROUND_CHUNKS_MAX });
        const events: string[] = [];
        for (const { first, texts } of chunks) {
          const newEvents = texts.slice(next - first);
          next += newEvents.length;
          events.push(...newEvents);
        }
        if (events.length === 0) throw createEventsExpiredError(id);
        yield events;
      } else if (run.endedAt !== undefined) {
        return;
      } else if (!hasChanged) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  } finally {
    for (const stop of stops) stop();
  }
}

export const createEventsExpiredError = (id: string): ServiceError =>
  new ServiceError('invalid-request', `The events of response '${id}' have been removed: retrieve it without stream.`, {
    param: 'stream',
  });
