import { POOL_BACKGROUND_BESIDE_LIVE_MAX, QUEUE_PLACES_MAX, QUEUE_WAIT_MS_MAX } from '../../core/limits.ts';
import { isBackground } from '../priority.ts';
import type { EngineOwner } from '../engine.ts';
import { createPlaces } from '../places.ts';
import type { Member } from './member.ts';

/** Keeps background requests few at servers whose own queues know no priority, as long as they have live ones. */
export interface BackgroundGate {
  /**
   * Live calls pass; a background one may wait first.
   * @param call Puts itself to a member before it waits for anything.
   * @throws ServiceError as `Places.take`; whatever the call throws.
   */
  call<T>(owner: EngineOwner, signal: AbortSignal, call: () => Promise<T>): Promise<T>;
  /** Some work of a member has ended. */
  over(): void;
}

export function createBackgroundGate(
  members: readonly Pick<Member, 'outstandingLive' | 'outstandingBackground'>[],
): BackgroundGate {
  const sum = (of: 'outstandingLive' | 'outstandingBackground'): number =>
    members.reduce((all, member) => all + member[of], 0);
  const places = createPlaces({
    fits: ({ taken }) =>
      sum('outstandingLive') === 0 ||
      sum('outstandingBackground') + taken < members.length * POOL_BACKGROUND_BESIDE_LIVE_MAX,
    queuePlacesMax: QUEUE_PLACES_MAX,
    queueWaitMsMax: QUEUE_WAIT_MS_MAX,
  });

  return {
    async call(owner, signal, call) {
      if (!isBackground(owner)) return await call();
      const begun = await places.take(1, { owner, signal });
      const called = call();
      // From here on its member counts it.
      begun();
      return await called;
    },
    over: places.look,
  };
}
