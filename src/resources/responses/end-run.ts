import { BACKGROUND_EVENTS_MS } from '../../core/limits.ts';
import type { RunState } from '../../store/background.ts';
import type { EventChunk } from '../../store/response-events.ts';
import type { Tables } from '../../store/store.ts';

export interface RunChange {
  /** Of whoever changes it, who has it; undefined: whoever has it. */
  readonly attempt?: number | undefined;
  readonly isBegin?: boolean;
  readonly state: RunState;
  readonly json?: string | undefined;
  readonly events: EventChunk | undefined;
}

/** A step with its events, for a transaction. False, and nothing is changed, where the run is not there for it any more. */
export async function advanceRun(
  { background, responseEvents }: Tables,
  id: string,
  { events, endAt, ...step }: RunChange & { readonly endAt?: number },
): Promise<boolean> {
  const isDone = await background.advance(id, {
    ...step,
    events: events && {
      first: events.first,
      count: events.texts.length,
      chars: events.texts.reduce((sum, text) => sum + text.length, 0),
    },
    ...(endAt === undefined
      ? {}
      : { end: { at: endAt, eventsUntil: events ? endAt + BACKGROUND_EVENTS_MS : undefined } }),
  });
  if (isDone && events) await responseEvents.insert(id, events);
  return isDone;
}

/** The last step: with an event of its own, if it is streamed. */
export const endRun = (tables: Tables, id: string, { at, ...change }: RunChange & { readonly at: number }) =>
  advanceRun(tables, id, { ...change, endAt: at });
