import { setTimeout as sleep } from 'node:timers/promises';
import { BATCH_BACKOFF_MS_MAX, BATCH_BACKOFF_MS_MIN } from './limits.ts';
import type { Clock } from '../../../lib/clock.ts';

/** Bounds of the delay in ms, and the clock. */
export interface BackoffOptions {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly delayMsMin?: number;
  readonly delayMsMax?: number;
}

/** Delays the lines of a batch: a line rejected for lack of capacity delays all lines. */
export interface Backoff {
  /** Resolves when no delay is left. @throws the signal's reason. */
  wait(signal: AbortSignal): Promise<void>;
  /** @param afterSeconds Retry delay that the rejection requested. */
  recordRejection(afterSeconds: number | undefined): void;
  /** Ends the series of rejections after a successful call. */
  reset(): void;
}

export function createBackoff({
  clock,
  delayMsMin = BATCH_BACKOFF_MS_MIN,
  delayMsMax = BATCH_BACKOFF_MS_MAX,
}: BackoffOptions): Backoff {
  let delayMs = 0;
  let until = 0;
  return {
    async wait(signal) {
      for (let left = until - clock.monotonic(); left > 0; left = until - clock.monotonic()) {
        await sleep(left, undefined, { signal }).catch((error: unknown) => {
          signal.throwIfAborted();
          throw error;
        });
      }
      signal.throwIfAborted();
    },
    recordRejection(afterSeconds = 0) {
      const now = clock.monotonic();
      // Lines that ran concurrently are rejected together: they count as one rejection.
      if (now < until) return;
      delayMs = Math.min(delayMsMax, Math.max(delayMsMin, delayMs * 2));
      // Half of the delay is random, so that several batches do not retry at the same moment.
      const jitteredMs = delayMs / 2 + (Math.random() * delayMs) / 2;
      until = now + Math.min(delayMsMax, Math.max(jitteredMs, afterSeconds * 1000));
    },
    reset() {
      delayMs = 0;
    },
  };
}
