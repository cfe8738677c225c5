import type { ServiceError } from '../../core/error.ts';
import type { Clock } from '../../lib/clock.ts';
import type { StartInterval } from '../../lib/start-interval.ts';
import type { Store } from '../../store/store.ts';
import type { RunningResponse } from './background.ts';
import { advanceRun, createEndedRunError, finishRun } from './run-transition.ts';
import { createEventWriter } from './event-writer.ts';
import type { RunNotifier } from './run-notifier.ts';

interface RunningResponseDeps {
  readonly store: Pick<Store, 'transaction'>;
  readonly clock: Clock;
  readonly notifier: Pick<RunNotifier, 'notify'>;
  readonly startInterval: StartInterval;
}

interface RunAttempt {
  readonly id: string;
  readonly attempt: number;
  readonly isStreamed: boolean;
  /** Number of the next event. */
  readonly firstSequence: number;
  /** Total characters of the events before it. */
  readonly eventChars: number;
  readonly abort: (reason: ServiceError) => void;
}

/** Creates the writer of one attempt's events. Its writes fail once the run has ended or belongs to a newer attempt. */
export function createRunningResponse(
  { store, clock, notifier, startInterval }: RunningResponseDeps,
  { id, attempt, isStreamed, firstSequence, eventChars, abort }: RunAttempt,
): RunningResponse {
  const writer = isStreamed
    ? createEventWriter({
        firstNumber: firstSequence,
        charsBefore: eventChars,
        startInterval,
        async write(events) {
          const change = { attempt, state: 'in_progress', events } as const;
          if (!(await store.transaction((tables) => advanceRun(tables, id, change)))) {
            throw createEndedRunError(id);
          }
          notifier.notify(id, 'updated');
        },
        onFailure: abort,
      })
    : undefined;
  const finish = async (events: string) => ({ attempt, events: await writer?.finish(events) });

  return {
    nextSequence: firstSequence,
    emit: (events) => writer?.push(events),
    finish,
    async fail({ json, events }) {
      const change = { ...(await finish(events)), state: 'failed', json, at: clock.now() } as const;
      await store.transaction((tables) => finishRun(tables, id, change));
      notifier.notify(id, 'updated');
    },
    close: () => writer?.close(),
  };
}
