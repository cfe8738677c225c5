import type { Clock } from '../../../lib/clock.ts';

/** A clock that stands until it is moved. */
export interface StillClock extends Clock {
  move(ms: number): void;
}

export function createStillClock(): StillClock {
  let at = 1_000_000;
  return {
    now: () => at,
    monotonic: () => at,
    move(ms) {
      at += ms;
    },
  };
}
