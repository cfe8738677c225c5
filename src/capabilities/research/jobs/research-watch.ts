import { createRevokedKeyError } from '../../../jobs/kinds/create-revoked-key-error.ts';
import { ServiceError } from '../../../core/error.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { ResearchLifecycle } from '../runs/research-lifecycle.ts';

export interface ResearchWatchDeps {
  readonly id: string;
  readonly keyId: string;
  /** UTC milliseconds. */
  readonly deadlineAt: number;
  readonly lifecycle: Pick<ResearchLifecycle, 'getStatus' | 'cancelUnread'>;
  readonly isKeyActive: (keyId: string) => Promise<boolean>;
  readonly clock: Clock;
  /** Called with the reason when the run must stop; may be called more than once. */
  readonly abort: (reason: ServiceError) => void;
}

/**
 * Creates a check whether a run may continue. Calls do not overlap and never reject: the next call makes up for a
 * failed one.
 */
export function createResearchWatch(deps: ResearchWatchDeps): () => Promise<void> {
  const { id, keyId, deadlineAt, lifecycle, isKeyActive, clock, abort } = deps;
  let polling: Promise<void> | undefined;

  const poll = async (): Promise<void> => {
    if (clock.now() >= deadlineAt) abort(new ServiceError('timeout', 'The research exceeded its time limit.'));
    if ((await lifecycle.getStatus(id)) === 'unread') await lifecycle.cancelUnread(id);
    // A reader may have returned a moment ago.
    if ((await lifecycle.getStatus(id)) === 'ended')
      abort(new ServiceError('cancelled', 'The research was cancelled.'));
    else if (!(await isKeyActive(keyId))) abort(createRevokedKeyError());
  };
  return () =>
    (polling ??= poll()
      .catch(() => undefined)
      .finally(() => {
        polling = undefined;
      }));
}
