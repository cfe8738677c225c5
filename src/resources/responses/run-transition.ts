import { ServiceError } from '../../core/error.ts';
import { BACKGROUND_EVENTS_RETENTION_MS } from './limits.ts';
import type { BackgroundRunUpdate } from '../../store/background.ts';
import type { ResponseEventChunk } from '../../store/response-events.ts';
import type { Tables } from '../../store/store.ts';

/** A state change of a background run, with the events that report it. */
export interface RunTransition extends Omit<BackgroundRunUpdate, 'events' | 'completion'> {
  readonly events: ResponseEventChunk | undefined;
}

/**
 * Changes the state of a run and stores the events that report it; call it in a transaction.
 * @returns false, with nothing changed, if the run has ended, does not exist, or belongs to a newer attempt.
 */
export async function advanceRun(
  { background, responseEvents }: Tables,
  id: string,
  { events, endAt, ...step }: RunTransition & { readonly endAt?: number },
): Promise<boolean> {
  const isChanged = await background.update(id, {
    ...step,
    events: events && {
      first: events.first,
      count: events.texts.length,
      chars: events.texts.reduce((sum, text) => sum + text.length, 0),
    },
    ...(endAt === undefined
      ? {}
      : { completion: { at: endAt, eventsUntil: events ? endAt + BACKGROUND_EVENTS_RETENTION_MS : undefined } }),
  });
  if (isChanged && events) await responseEvents.insert(id, events);
  return isChanged;
}

/** Ends a run, with a final event if the run is streamed. */
export const finishRun = (tables: Tables, id: string, { at, ...change }: RunTransition & { readonly at: number }) =>
  advanceRun(tables, id, { ...change, endAt: at });

/** Creates the error of a run that was cancelled or deleted while it answered. */
export const createEndedRunError = (id: string): ServiceError =>
  new ServiceError('cancelled', `Response '${id}' was cancelled or deleted before its answer was complete.`);
