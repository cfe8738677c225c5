import { BACKGROUND_CHUNKS_MAX, BACKGROUND_LOOK_MS } from '../../core/limits.ts';
import { ServiceError } from '../../core/error.ts';
import type { Every } from '../../lib/every.ts';
import type { Tables } from '../../store/store.ts';
import { noResponse } from '../conversations/not-there.ts';
import type { RunBell } from './run-bell.ts';

export interface TailNeeds {
  readonly store: Pick<Tables, 'background' | 'responseEvents'>;
  readonly bell: Pick<RunBell, 'listen'>;
  readonly every: Every;
}

/**
 * Events behind the one numbered `after`, from the store and nowhere else: whatever is told was written before, so that every
 * reader in every process is told the same, however often and from wherever it begins.
 */
export async function* tail({ store, bell, every }: TailNeeds, id: string, after: number): AsyncGenerator<string[]> {
  let next = after + 1;
  let isNews = false;
  let wake: (() => void) | undefined;
  const hear = (): void => {
    isNews = true;
    wake?.();
  };
  const stops = [bell.listen(id, hear), every(BACKGROUND_LOOK_MS, hear)];
  try {
    for (;;) {
      isNews = false;
      // Before the events: what is the last one of a response that has ended is known then.
      const run = (await store.background.findState(id)) ?? noResponse(id);
      if (next <= run.lastSequence) {
        const chunks = await store.responseEvents.read(id, { from: next, chunksMax: BACKGROUND_CHUNKS_MAX });
        const events: string[] = [];
        for (const { first, texts } of chunks) {
          const more = texts.slice(next - first);
          next += more.length;
          events.push(...more);
        }
        if (events.length === 0) throw eventsGone(id);
        yield events;
      } else if (run.endedAt !== undefined) {
        return;
      } else if (!isNews) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  } finally {
    for (const stop of stops) stop();
  }
}

export const eventsGone = (id: string): ServiceError =>
  new ServiceError(
    'invalid-request',
    `The events of response '${id}' are not kept any more: retrieve it without stream.`,
    {
      param: 'stream',
    },
  );
