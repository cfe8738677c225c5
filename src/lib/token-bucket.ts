import type { Clock } from './clock.ts';

/** Token bucket: refills continuously with the amount per minute, and holds at most one minute's amount. */
export interface TokenBucket {
  /** Returns the available amount. Negative when more was consumed than was available. */
  getLevel(): number;
  /**
   * Returns the seconds until the amount is available; 0 when it is. An amount below 1 counts as 1. For an amount above
   * the maximum, the bucket must be full. Infinity when the rate is 0.
   */
  getSecondsUntil(amount: number): number;
  /** Consumes the amount, even if it is not available. A negative amount is returned to the bucket. */
  consume(amount: number): void;
  /** Changes the rate. The available amount stays, up to the new maximum. */
  setPerMinute(perMinute: number): void;
}

/** Creates a full bucket. @param perMinute Rate and maximum, from 0. */
export function createTokenBucket(perMinute: number, clock: Pick<Clock, 'monotonic'>): TokenBucket {
  let rate = perMinute;
  let tokens = perMinute;
  let refilledAt = clock.monotonic();

  const level = (): number => {
    const now = clock.monotonic();
    tokens = Math.min(rate, tokens + ((now - refilledAt) * rate) / MINUTE_MS);
    refilledAt = now;
    return tokens;
  };

  return {
    getLevel: level,
    getSecondsUntil(amount) {
      if (rate === 0) return Infinity;
      const missing = Math.min(Math.max(1, amount), rate) - level();
      return Math.max(0, (missing * MINUTE_MS) / 1000 / rate);
    },
    consume(amount) {
      tokens = Math.min(rate, level() - amount);
    },
    setPerMinute(next) {
      level();
      rate = next;
      tokens = Math.min(rate, tokens);
    },
  };
}

const MINUTE_MS = 60_000;
