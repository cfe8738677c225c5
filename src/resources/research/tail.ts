import { errorCodec } from '../../core/error-codec.ts';
import { ServiceError } from '../../core/error.ts';
import { RESEARCH_LOOK_MS, RESEARCH_SIGN_MS, RESEARCH_STEPS_PAGE_MAX } from '../../core/limits.ts';
import type { ResearchEvent, ResearchStep } from '../../core/research.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Every } from '../../lib/every.ts';
import type { ResearchLink } from '../../store/research.ts';
import type { Tables } from '../../store/store.ts';
import type { RunBell } from '../responses/run-bell.ts';

export interface ResearchTailNeeds {
  readonly store: Pick<Tables, 'research'>;
  readonly bell: Pick<RunBell, 'listen'>;
  readonly clock: Clock;
  readonly every: Every;
}

/**
 * What is told of a run, from its first event to its end: from the store and nowhere else, so that every reader is told the
 * same. Gives signs of life until its reader leaves, and says when that was.
 *
 * @throws ServiceError why the run failed, behind all that was told of it; `cancelled`; the signal's reason.
 */
export async function* tailResearch(
  { store: { research }, bell, clock, every }: ResearchTailNeeds,
  id: string,
  signal: AbortSignal,
): AsyncGenerator<readonly ResearchEvent[], void> {
  let next = 0;
  let isNews = false;
  let wake: (() => void) | undefined;
  const hear = (): void => {
    isNews = true;
    wake?.();
  };
  // One that fails is made up for by the next.
  const sign = (): Promise<void> => research.sign(id, clock.now()).catch(() => undefined);
  const stops = [
    bell.listen(id, hear),
    every(RESEARCH_LOOK_MS, hear),
    every(RESEARCH_SIGN_MS, () => void sign()),
    () => signal.removeEventListener('abort', hear),
  ];
  signal.addEventListener('abort', hear);
  try {
    for (;;) {
      isNews = false;
      if (signal.aborted) throw ServiceError.from(signal.reason);
      // Before the steps: what is the last one of a run that has ended is known then.
      const run = (await research.findState(id)) ?? gone();
      if (next <= run.lastStep) {
        const steps = await research.steps(id, { from: next, limit: RESEARCH_STEPS_PAGE_MAX });
        if (steps.length === 0) gone();
        next += steps.length;
        const told = steps.flatMap((json) => (JSON.parse(json) as ResearchStep).tell);
        if (told.length > 0) yield told;
      } else if (run.endedAt !== undefined) {
        await research.deliver(id);
        return endOf(run);
      } else if (!isNews) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  } finally {
    for (const stop of stops) stop();
    await sign();
  }
}

function endOf({ state, error }: ResearchLink): void {
  if (state === 'cancelled') throw new ServiceError('cancelled', 'This research was cancelled.');
  if (error !== undefined) throw errorCodec.decode(JSON.parse(error));
}

function gone(): never {
  throw new ServiceError('cancelled', 'What was told of this research is not kept any more.');
}
