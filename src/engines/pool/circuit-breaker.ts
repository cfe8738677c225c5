import type { ServiceError } from '../../core/error.ts';
import {
  POOL_FAILURES_IN_ROW_MAX,
  POOL_WINDOW_FAILURES_MAX,
  POOL_OUTCOME_WINDOW,
  POOL_BUSY_PAUSE_MS,
  POOL_LAST_RESORT_INTERVAL_MS,
  POOL_ERROR_RESPONSE_WEIGHT,
} from './limits.ts';
import type { Clock } from '../../lib/clock.ts';

/** One permitted use of the address. Exactly one of the last five methods is called, when the use ends. */
export interface BreakerAttempt {
  /** Reports the first output: a half-open breaker closes, and opens again with its next failure. */
  recordOutput(): void;
  recordSuccess(): void;
  recordFailure(error: ServiceError): void;
  /** Reports an ambiguous failure: the server returned a well-formed error, which the request may have caused. */
  recordAmbiguousFailure(error: ServiceError, caller: string): void;
  /** Reports that the server works but accepts no request for `ms` milliseconds. */
  recordBusy(error: ServiceError, ms: number): void;
  /** Ends the attempt without a result. */
  cancel(): void;
}

/**
 * Circuit breaker of one upstream address. `closed`: the address is used. `open`: it is not used until a backoff has
 * passed. `half-open`: one attempt tests whether it works again. Results of attempts that started before the state
 * changed are ignored.
 *
 * An ambiguous failure has half the weight of a failure (POOL_ERROR_RESPONSE_WEIGHT). Of each caller, at most one
 * counts in the failures since the last success, and at most one in the recent outcomes: one caller cannot open the
 * breaker with bad prompts. An ambiguous failure of a half-open attempt counts as no result: the breaker opens again
 * for the shortest backoff.
 */
export interface CircuitBreaker {
  readonly state: 'closed' | 'open' | 'half-open';
  /**
   * True while the breaker is closed, but the last outcome was a failure, or no attempt has succeeded since a half-open
   * attempt closed it.
   */
  readonly isSuspect: boolean;
  /** Returns the milliseconds until `startAttempt` may be called; 0: now. */
  getWaitMs(): number;
  /**
   * Returns the milliseconds until `startAttempt` may be called if no breaker of the pool is closed, so that this
   * address is a last resort. A backoff or a running half-open attempt then delays the next attempt only by
   * `POOL_LAST_RESORT_INTERVAL_MS`.
   */
  getLastResortWaitMs(): number;
  /** Last recorded failure. */
  readonly lastError: ServiceError | undefined;
  /**
   * Starts an attempt; only allowed while `getWaitMs` or `getLastResortWaitMs` returns 0. An open breaker becomes
   * half-open.
   */
  startAttempt(): BreakerAttempt;
}

export interface BreakerBackoff {
  /** Shortest and longest backoff of an open breaker, in milliseconds. */
  readonly backoffMsMin: number;
  readonly backoffMsMax: number;
}

export interface CircuitBreakerDeps {
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Returns a number from 0 (included) to 1 (excluded). */
  readonly random: () => number;
  readonly backoff: BreakerBackoff;
  /** Called when the breaker opens, with the last failure, and when it closes; not when a half-open attempt fails. */
  readonly onOpen: (error: ServiceError, backoffMs: number) => void;
  readonly onClose: () => void;
}

/** An outcome that is an object is an ambiguous failure. */
type Outcome = 'good' | 'failed' | { readonly caller: string };

export function createCircuitBreaker({ clock, random, backoff, onOpen, onClose }: CircuitBreakerDeps): CircuitBreaker {
  let state: CircuitBreaker['state'] = 'closed';
  /** Number of state changes; results of attempts from an earlier version are ignored. */
  let stateVersion = 0;
  /** Number of times that the breaker went from closed to open. */
  let openCount = 0;
  /** While open: time of the next half-open attempt. While closed: end of a busy pause. In monotonic milliseconds. */
  let nextAttemptAt = 0;
  /** End of the pause that the server last asked for; unlike a backoff, it also delays last-resort attempts. */
  let busyUntil = 0;
  let lastResortFrom = 0;
  let failuresInRow = 0;
  const ambiguousCallersInRow = new Set<string>();
  let outcomes: Outcome[] = [];
  let backoffCount = 0;
  let isOnProbation = false;
  let lastError: ServiceError | undefined;

  const setState = (nextState: CircuitBreaker['state'], notBeforeMs: number): void => {
    state = nextState;
    nextAttemptAt = notBeforeMs;
    stateVersion++;
  };

  /** Half of the backoff is random, so that addresses and Parley processes that failed together retry separately. */
  const nextBackoffMs = (): number => {
    const full = Math.min(backoff.backoffMsMax, backoff.backoffMsMin * 2 ** backoffCount);
    backoffCount++;
    return full * (0.5 + random() / 2);
  };

  const open = (error: ServiceError): void => {
    const wasClosed = state === 'closed';
    const backoffMs = nextBackoffMs();
    setState('open', clock.monotonic() + backoffMs);
    failuresInRow = 0;
    ambiguousCallersInRow.clear();
    outcomes = [];
    isOnProbation = false;
    if (!wasClosed) return;
    openCount++;
    lastResortFrom = clock.monotonic() + POOL_LAST_RESORT_INTERVAL_MS;
    onOpen(error, backoffMs);
  };

  const close = (): void => {
    setState('closed', 0);
    isOnProbation = true;
    onClose();
  };

  const recordOutcome = (outcome: Outcome): void => {
    outcomes.push(outcome);
    if (outcomes.length > POOL_OUTCOME_WINDOW) outcomes.shift();
  };

  const hasFailedTooOften = (): boolean => {
    const recentWeight = outcomes.reduce((sum, outcome) => sum + getFailureWeight(outcome), 0);
    const weightInRow = failuresInRow + ambiguousCallersInRow.size * POOL_ERROR_RESPONSE_WEIGHT;
    return weightInRow >= POOL_FAILURES_IN_ROW_MAX || recentWeight >= POOL_WINDOW_FAILURES_MAX;
  };

  const getWaitMs = (): number =>
    // The half-open attempt ends soon, but nobody knows when.
    state === 'half-open' ? POOL_BUSY_PAUSE_MS : Math.max(0, nextAttemptAt - clock.monotonic());

  return {
    get state() {
      return state;
    },
    get isSuspect() {
      return state === 'closed' && (failuresInRow > 0 || ambiguousCallersInRow.size > 0 || isOnProbation);
    },
    get lastError() {
      return lastError;
    },
    getWaitMs,
    getLastResortWaitMs() {
      if (state === 'closed') return getWaitMs();
      // An attempt that is due anyway needs no last-resort interval.
      if (getWaitMs() === 0) return 0;
      return Math.max(0, Math.max(lastResortFrom, busyUntil) - clock.monotonic());
    },
    startAttempt() {
      if (state === 'open') setState('half-open', 0);
      if (state === 'half-open') lastResortFrom = clock.monotonic() + POOL_LAST_RESORT_INTERVAL_MS;
      const isHalfOpen = state === 'half-open';
      const attemptOpenCount = openCount;
      let attemptVersion = stateVersion;
      /** Closes the breaker also for an attempt that overlapped failures of others: the server works now. */
      const recordOutput = (): void => {
        if (!isHalfOpen || attemptOpenCount !== openCount || state === 'closed') return;
        close();
        attemptVersion = stateVersion;
      };
      return {
        recordOutput,
        recordSuccess() {
          recordOutput();
          if (attemptVersion !== stateVersion) return;
          failuresInRow = 0;
          ambiguousCallersInRow.clear();
          backoffCount = 0;
          isOnProbation = false;
          recordOutcome('good');
        },
        recordFailure(error) {
          if (attemptVersion !== stateVersion) return;
          lastError = error;
          failuresInRow++;
          recordOutcome('failed');
          if (state === 'half-open' || isOnProbation || hasFailedTooOften()) open(error);
        },
        recordAmbiguousFailure(error, caller) {
          if (attemptVersion !== stateVersion) return;
          lastError = error;
          if (state === 'half-open') return setState('open', clock.monotonic() + backoff.backoffMsMin);
          ambiguousCallersInRow.add(caller);
          if (!outcomes.some((outcome) => endedAmbiguously(outcome, caller))) recordOutcome({ caller });
          if (hasFailedTooOften()) open(error);
        },
        recordBusy(error, ms) {
          if (attemptVersion !== stateVersion) return;
          lastError = error;
          const until = clock.monotonic() + ms;
          busyUntil = until;
          if (state === 'half-open') setState('open', until);
          else nextAttemptAt = Math.max(nextAttemptAt, until);
        },
        cancel() {
          if (attemptVersion === stateVersion && state === 'half-open') setState('open', 0);
        },
      };
    },
  };
}

function getFailureWeight(outcome: Outcome): number {
  if (outcome === 'good') return 0;
  return outcome === 'failed' ? 1 : POOL_ERROR_RESPONSE_WEIGHT;
}

const endedAmbiguously = (outcome: Outcome, caller: string): boolean =>
  typeof outcome === 'object' && outcome.caller === caller;
