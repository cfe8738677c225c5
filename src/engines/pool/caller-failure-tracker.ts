import { LRUCache } from 'lru-cache';
import { POOL_CALLER_AVOID_MS, POOL_CALLERS_TRACKED_MAX, POOL_CALLER_FAILURES_MAX } from './limits.ts';
import type { Clock } from '../../lib/clock.ts';

/** Counts ambiguous failures per caller at one address. A caller with too many avoids it; other callers do not. */
export interface CallerFailureTracker {
  recordFailure(caller: string): void;
  recordSuccess(caller: string): void;
  isExcluded(caller: string): boolean;
}

interface CallerFailures {
  readonly failures: number;
  /** Monotonic milliseconds. */
  readonly excludedUntil: number;
}

export function createCallerFailureTracker({
  clock,
}: {
  readonly clock: Pick<Clock, 'monotonic'>;
}): CallerFailureTracker {
  const failuresByCaller = new LRUCache<string, CallerFailures>({
    max: POOL_CALLERS_TRACKED_MAX,
  });
  return {
    recordFailure(caller) {
      const failures = (failuresByCaller.get(caller)?.failures ?? 0) + 1;
      failuresByCaller.set(caller, { failures, excludedUntil: clock.monotonic() + POOL_CALLER_AVOID_MS });
    },
    recordSuccess(caller) {
      if (failuresByCaller.get(caller)) failuresByCaller.set(caller, NO_FAILURES);
    },
    isExcluded(caller) {
      const { failures, excludedUntil } = failuresByCaller.get(caller) ?? NO_FAILURES;
      return failures >= POOL_CALLER_FAILURES_MAX && excludedUntil > clock.monotonic();
    },
  };
}

const NO_FAILURES: CallerFailures = { failures: 0, excludedUntil: 0 };
