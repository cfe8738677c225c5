import { ServiceError } from '../../core/error.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Every } from '../../lib/every.ts';
import type { Store } from '../../store/store.ts';
import type { RunningResponse } from './background.ts';
import { advanceRun, endRun } from './end-run.ts';
import { createEventWriter } from './event-writer.ts';
import type { RunBell } from './run-bell.ts';

interface Needs {
  readonly store: Pick<Store, 'transaction'>;
  readonly clock: Clock;
  readonly bell: Pick<RunBell, 'ring'>;
  readonly every: Every;
}

interface Begun {
  readonly id: string;
  readonly attempt: number;
  readonly isStreamed: boolean;
  /** Number of the event that comes next. */
  readonly first: number;
  /** Of those before it. */
  readonly eventChars: number;
  readonly abort: (reason: ServiceError) => void;
}

/** What one attempt tells of a response; it is heard as long as no other one has it. */
export function runningResponse(
  { store, clock, bell, every }: Needs,
  { id, attempt, isStreamed, first, eventChars, abort }: Begun,
): RunningResponse {
  const writer = isStreamed
    ? createEventWriter({
        first,
        charsBefore: eventChars,
        every,
        async write(events) {
          const change = { attempt, state: 'in_progress', events } as const;
          if (!(await store.transaction((tables) => advanceRun(tables, id, change)))) {
            throw new ServiceError('cancelled', `Response '${id}' was ended before its answer was.`);
          }
          bell.ring(id, 'told');
        },
        onFailure: abort,
      })
    : undefined;
  const end = async (events: string) => ({ attempt, events: await writer?.end(events) });

  return {
    nextSequence: first,
    tell: (events) => writer?.push(events),
    end,
    async fail({ json, events }) {
      const change = { ...(await end(events)), state: 'failed', json, at: clock.now() } as const;
      await store.transaction((tables) => endRun(tables, id, change));
      bell.ring(id, 'told');
    },
    close: () => writer?.close(),
  };
}
