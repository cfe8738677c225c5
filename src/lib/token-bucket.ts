import type { Clock } from './clock.ts';

/** So many a minute, refilled continuously, and at most one minute's worth kept. */
export interface TokenBucket {
  /** What is there now; below 0 where more was spent than there was. */
  level(): number;
  /**
   * Seconds until it holds so much, 0 where it does. For any amount it has to hold 1; for more than it can hold it has to be
   * full. Infinity where it never fills.
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
      if (rate === 0) return Infinity;
      const missing = Math.min(Math.max(1, amount), rate) - level();
      return Math.max(0, (missing * MINUTE_MS) / 1000 / rate);
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
