import { QUEUE_LENGTH_MAX, QUEUE_WAIT_MS_MAX } from '../../core/limits.ts';
import { POOL_BACKGROUND_BESIDE_LIVE_MAX } from './limits.ts';
import { isBackground } from '../priority.ts';
import type { EngineOwner } from '../engine.ts';
import { createFairSemaphore } from '../fair-semaphore.ts';
import type { PoolMember } from './pool-member.ts';

/** Limits background requests on servers that also run live requests: the servers' own queues have no priorities. */
export interface BackgroundLimiter {
  /**
   * Runs a live call at once; a background call may wait first.
   * @param call Must call `onRegistered` when it has registered its work with a pool member, which then counts it.
   * @throws ServiceError when the wait is too long or the queue is full, and whatever the call throws.
   */
  run<T>(owner: EngineOwner, signal: AbortSignal, call: (onRegistered: () => void) => Promise<T>): Promise<T>;
  /** Must be called when any work of a member has finished: waiting calls may start. */
  onWorkFinished(): void;
}

export function createBackgroundLimiter(
  members: readonly Pick<PoolMember, 'outstandingLive' | 'outstandingBackground'>[],
): BackgroundLimiter {
  const sumOver = (property: 'outstandingLive' | 'outstandingBackground'): number =>
    members.reduce((all, member) => all + member[property], 0);
  const permits = createFairSemaphore({
    canAcquire: ({ taken }) =>
      sumOver('outstandingLive') === 0 ||
      sumOver('outstandingBackground') + taken < members.length * POOL_BACKGROUND_BESIDE_LIVE_MAX,
    queueLengthMax: QUEUE_LENGTH_MAX,
    queueWaitMsMax: QUEUE_WAIT_MS_MAX,
  });

  return {
    async run(owner, signal, call) {
      if (!isBackground(owner)) return await call(() => undefined);
      const releasePermit = await permits.acquire(1, { owner, signal });
      try {
        return await call(releasePermit);
      } finally {
        releasePermit();
      }
    },
    onWorkFinished: permits.recheck,
  };
}
