import { errorCodec } from '../../../core/error-codec.ts';
import { ServiceError } from '../../../core/error.ts';
import { RESEARCH_READER_POLL_MS, RESEARCH_READER_HEARTBEAT_MS, RESEARCH_STEPS_PAGE_MAX } from './limits.ts';
import type { ResearchEvent } from '../research.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { StartInterval } from '../../../lib/start-interval.ts';
import type { ResearchRunSummary } from '../../../store/research.ts';
import type { Tables } from '../../../store/store.ts';
import type { RunNotifier } from '../../../resources/responses/run-notifier.ts';
import { decodeStep } from './stored-step.ts';

export interface ResearchTailDeps {
  readonly store: Pick<Tables, 'research'>;
  readonly notifier: Pick<RunNotifier, 'subscribe'>;
  readonly clock: Clock;
  readonly startInterval: StartInterval;
}

/**
 * Yields all events of a run from the first to the last. Events come from the store only, so that every reader gets the
 * same ones. While it is read, the run is marked as read periodically, and once more when the reader leaves.
 *
 * @throws ServiceError the run's failure after its last event; `cancelled`; the signal's reason.
 */
export async function* tailResearch(
  { store: { research }, notifier, clock, startInterval }: ResearchTailDeps,
  id: string,
  signal: AbortSignal,
): AsyncGenerator<readonly ResearchEvent[], void> {
  let next = 0;
  let hasChanged = false;
  let wake: (() => void) | undefined;
  const onChange = (): void => {
    hasChanged = true;
    wake?.();
  };
  // A failed write is made up for by the next one.
  const signalReading = (): Promise<void> => research.recordRead(id, clock.now()).catch(() => undefined);
  const stops = [
    notifier.subscribe(id, onChange),
    startInterval(RESEARCH_READER_POLL_MS, onChange),
    startInterval(RESEARCH_READER_HEARTBEAT_MS, () => void signalReading()),
    () => signal.removeEventListener('abort', onChange),
  ];
  signal.addEventListener('abort', onChange);
  try {
    for (;;) {
      hasChanged = false;
      if (signal.aborted) throw ServiceError.from(signal.reason);
      // Read the state before the steps: if the run has ended, this is the final number of steps.
      const run = (await research.findSummary(id)) ?? throwStepsRemoved();
      if (next <= run.lastStep) {
        const steps = await research.listSteps(id, { from: next, limit: RESEARCH_STEPS_PAGE_MAX });
        if (steps.length === 0) throwStepsRemoved();
        next += steps.length;
        const events = steps.flatMap((json) => decodeStep(json).events);
        if (events.length > 0) yield events;
      } else if (run.endedAt !== undefined) {
        await research.markDelivered(id);
        return throwIfFailed(run);
      } else if (!hasChanged) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  } finally {
    for (const stop of stops) stop();
    await signalReading();
  }
}

function throwIfFailed({ state, error }: ResearchRunSummary): void {
  if (state === 'cancelled') throw new ServiceError('cancelled', 'The deep research run was cancelled.');
  if (error !== undefined) throw errorCodec.decode(JSON.parse(error));
}

function throwStepsRemoved(): never {
  throw new ServiceError(
    'cancelled',
    'The results of this deep research run have been removed. Send the request again.',
  );
}
