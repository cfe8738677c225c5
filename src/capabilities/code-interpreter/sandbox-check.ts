import type { Clock } from '../../lib/clock.ts';
import { startInterval as startSystemInterval } from '../../lib/start-interval.ts';
import type { StartInterval } from '../../lib/start-interval.ts';

/**
 * Result of an attempt: a verified value, or nothing. `isTimeout`: the attempt failed only because it took too long.
 */
export type SandboxCheckResult<Held> =
  | { readonly value: Held; readonly isTimeout?: never }
  | { readonly value?: never; readonly isTimeout: boolean };

/** Verifies something before its first use, and again if an attempt took too long. */
export interface SandboxCheck<Held> {
  /** Returns the verified value of the current or the latest attempt; starts an attempt if one is due. */
  get(): Promise<Held | undefined>;
  /** Returns the ms until the next attempt, 0 during an attempt, undefined if there will be none. */
  getNextAttemptMs(): number | undefined;
  /** Whether the next attempt starts only on a call of `get`. */
  waitsForCaller(): boolean;
  /** Prevents further attempts; resolves when the current one has ended. */
  close(): Promise<void>;
}

interface SandboxCheckDeps<Held> {
  /** Must not reject. */
  readonly attempt: () => Promise<SandboxCheckResult<Held>>;
  /**
   * Pauses in ms after attempts that timed out. After the last pause, attempts start on demand only, that far apart.
   */
  readonly pausesMs: readonly number[];
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly startInterval?: StartInterval | undefined;
}

/** Chosen: ms between checks whether an attempt is due. */
const POLL_MS = 1_000;

/** Starts no attempt before the first `get`, and none after a failure other than a timeout. */
export function createSandboxCheck<Held>({
  attempt,
  pausesMs,
  clock,
  startInterval = startSystemInterval,
}: SandboxCheckDeps<Held>): SandboxCheck<Held> {
  let latest: Promise<Held | undefined> | undefined;
  let isRunning = false;
  let attemptCount = 0;
  let dueAt: number | undefined;
  let cancelInterval: (() => void) | undefined;
  let isClosed = false;

  const startAttempt = async (): Promise<Held | undefined> => {
    isRunning = true;
    dueAt = undefined;
    attemptCount++;
    const result = await attempt();
    isRunning = false;
    const pauseMs = pausesMs[attemptCount - 1] ?? pausesMs.at(-1);
    if (result.isTimeout && pauseMs !== undefined && !isClosed) dueAt = clock.monotonic() + pauseMs;
    if (dueAt !== undefined && !waitsForCaller()) cancelInterval ??= startInterval(POLL_MS, startIfDue);
    else stopPolling();
    return result.value;
  };
  const stopPolling = (): void => {
    cancelInterval?.();
    cancelInterval = undefined;
  };
  const waitsForCaller = (): boolean => dueAt !== undefined && attemptCount > pausesMs.length;
  const startIfDue = (): void => {
    if (dueAt !== undefined && clock.monotonic() >= dueAt) latest = startAttempt();
  };

  return {
    get() {
      startIfDue();
      return (latest ??= isClosed ? Promise.resolve(undefined) : startAttempt());
    },
    getNextAttemptMs() {
      if (isRunning) return 0;
      return dueAt === undefined ? undefined : Math.max(0, dueAt - clock.monotonic());
    },
    waitsForCaller,
    async close() {
      isClosed = true;
      dueAt = undefined;
      stopPolling();
      await latest;
    },
  };
}
