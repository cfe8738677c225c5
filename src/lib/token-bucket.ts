import type { Clock } from './clock.ts';

/** So many a minute, refilled continuously, and at most one minute's worth kept. */
export interface TokenBucket {
  /** What is there now; below 0 where more was spent than there was. */
  level(): number;
  /**
   * Seconds until it holds so much, 0 where it does. It has to be above 0 for any amount; more than it can hold is had when
   * it is full. Infinity where it never fills.
   */
  secondsUntil(amount: number): number;
  /** Takes it, whether it is there or not; less than nothing is given back. */
  spend(amount: number): void;
  /** Another rate from now on: what is there stays, as far as there is room for it. */
  setPerMinute(perMinute: number): void;
}

/** Full at its beginning. @param perMinute From 0. */
export function createTokenBucket(perMinute: number, clock: Pick<Clock, 'monotonic'>): TokenBucket {
  let rate = perMinute;
  let held = perMinute;
  let at = clock.monotonic();

  const level = (): number => {
    const now = clock.monotonic();
    held = Math.min(rate, held + ((now - at) * rate) / MINUTE_MS);
    at = now;
    return held;
  };

  return {
    level,
    secondsUntil(amount) {
      const wanted = Math.min(amount, rate);
      const there = level();
      if (there > 0 && there >= wanted) return 0;
      if (rate === 0) return Infinity;
      return ((wanted - there) * 60) / rate;
    },
    spend(amount) {
      held = Math.min(rate, level() - amount);
    },
    setPerMinute(next) {
      level();
      rate = next;
      held = Math.min(rate, held);
    },
  };
}

const MINUTE_MS = 60_000;
