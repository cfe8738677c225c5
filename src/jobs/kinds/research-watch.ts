import { ServiceError } from '../../core/error.ts';
import type { Clock } from '../../lib/clock.ts';
import type { ResearchWork } from '../../resources/research/research-work.ts';

export interface ResearchWatchNeeds {
  readonly id: string;
  readonly keyId: string;
  /** UTC milliseconds. */
  readonly deadlineAt: number;
  readonly work: Pick<ResearchWork, 'standingOf' | 'cancelUnread'>;
  readonly isKeyActive: (keyId: string) => Promise<boolean>;
  readonly clock: Clock;
  /** Called with the reason when the run is to go on no longer; once or more. */
  readonly abort: (reason: ServiceError) => void;
}

/** What looks whether a run is still to go on. Looks do not overlap, and never reject: one that fails is made up for by the next. */
export function watchResearch(needs: ResearchWatchNeeds): () => Promise<void> {
  const { id, keyId, deadlineAt, work, isKeyActive, clock, abort } = needs;
  let looking: Promise<void> | undefined;

  const look = async (): Promise<void> => {
    if (clock.now() >= deadlineAt) abort(new ServiceError('timeout', 'The research ran longer than it may.'));
    if ((await work.standingOf(id)) === 'unread') await work.cancelUnread(id);
    // Somebody may have come back a moment ago.
    if ((await work.standingOf(id)) === 'ended') abort(new ServiceError('cancelled', 'This research was ended.'));
    else if (!(await isKeyActive(keyId)))
      abort(new ServiceError('unauthenticated', 'The key that asked is not valid any more.'));
  };
  return () =>
    (looking ??= look()
      .catch(() => undefined)
      .finally(() => {
        looking = undefined;
      }));
}
