import type { JobProgress, JobRecord } from '../core/job.ts';
import type { JobAttemptOutcome, Log } from '../core/telemetry.ts';
import type { Clock } from '../lib/clock.ts';
import type { JobStore } from '../store/jobs.ts';
import { formatFailure } from './format-failure.ts';
import type { JobStopReason } from './handler.ts';
import { createProgressTracker } from './progress-tracker.ts';

export interface JobLeaseDeps {
  readonly jobs: Pick<JobStore, 'find' | 'renew' | 'release' | 'finish' | 'cancel'>;
  readonly leaseOwner: string;
  readonly leaseMs: number;
  readonly clock: Clock;
  readonly log: Pick<Log, 'info' | 'warn'>;
  /** Called when a store call fails; the call is repeated later. */
  readonly onOutage: (error: unknown) => void;
}

/** Lease of a job: this process may work on the job until the lease ends or is lost. */
export interface JobLease {
  /** Aborts with a `JobStopReason`. */
  readonly signal: AbortSignal;
  stop(reason: JobStopReason): void;
  /** Renews the lease if renewal is due or progress is pending. The worker calls it regularly. */
  heartbeat(): void;
  report(progress: JobProgress): void;
  /** Returns how many failures are still allowed, including this attempt. */
  getAttemptsLeft(): number;
  /**
   * Writes the final state; repeats the write until it succeeds or the lease is lost. Never rejects, like `release`.
   */
  finish(state: 'done' | 'failed' | 'cancelled', error?: unknown): Promise<JobAttemptOutcome>;
  /** @param options `failure`: costs an attempt. `hasAdvanced`: restores all attempts. */
  release(options: { delayMs: number; failure?: unknown; hasAdvanced?: boolean }): Promise<JobAttemptOutcome>;
  /**
   * Returns the job to the queue because its handler did not stop in time; later writes of this attempt are dropped.
   */
  abandon(): Promise<void>;
}

/** Renewals per lease time: a lease survives failed or late renewals until a whole lease time has passed. */
const RENEWALS_PER_LEASE = 3;

/** Creates the lease of a job that was just claimed. */
export function createJobLease(job: JobRecord, deps: JobLeaseDeps): JobLease {
  const { jobs, leaseOwner, leaseMs, clock, log, onOutage } = deps;
  const { id, kind, subject, attempt } = job;
  const stopController = new AbortController();
  const progressTracker = createProgressTracker(job.progress);
  let { attemptsLeft } = job;
  let renewedAt = { now: (job.dueAt ?? clock.now() + leaseMs) - leaseMs, monotonic: clock.monotonic() };
  let isClosed = false;
  let pendingWrite: Promise<unknown> | undefined;
  let nextHeartbeat = Promise.withResolvers<void>();

  /** Uses both clocks: the monotonic clock stops while the machine sleeps, and the system clock can be set back. */
  const msSinceRenewal = (): number => Math.max(clock.now() - renewedAt.now, clock.monotonic() - renewedAt.monotonic);

  const stop = (reason: JobStopReason): void => stopController.abort(reason);
  const lose = (): void => {
    if (isClosed) return;
    isClosed = true;
    void logLoss();
    stop('lost');
  };
  /** A job that was removed with its subject, such as a deleted file, is no loss. */
  const logLoss = async (): Promise<void> => {
    const fields = { job: id, kind, subject, attempt };
    const isRemoved = await jobs.find(id).then(
      (found) => found === undefined,
      () => false,
    );
    if (isRemoved) log.info('job was removed while it ran', fields);
    else log.warn('job lease lost', fields);
  };

  /** Tracks the running write, so that the next write waits for it: a late result must not apply to a closed lease. */
  const write = async <Result>(call: () => Promise<Result>): Promise<Result> => {
    const result = call();
    pendingWrite = result;
    try {
      return await result;
    } finally {
      pendingWrite = undefined;
    }
  };
  const waitForPendingWrite = async (): Promise<void> => {
    while (pendingWrite) await pendingWrite.catch(() => undefined);
  };

  const renew = async (): Promise<void> => {
    const at = { now: clock.now(), monotonic: clock.monotonic() };
    const pending = progressTracker.take();
    try {
      const renewed = await write(() => jobs.renew(id, { leaseOwner, leaseUntil: at.now + leaseMs, ...pending }));
      if (!renewed) return lose();
      renewedAt = at;
      if (pending.hasAdvanced) attemptsLeft = job.attemptsMax;
      if (renewed.isCancelled) stop('cancelled');
    } catch (error) {
      progressTracker.restore(pending);
      onOutage(error);
      // The lease has expired: another process may have the job, and two must not work on it.
      if (msSinceRenewal() > leaseMs) lose();
    }
  };

  /** @returns undefined if the lease is or may be lost. */
  const writeUntilClosed = async <Result>(call: () => Promise<Result | undefined>): Promise<Result | undefined> => {
    for (;;) {
      await waitForPendingWrite();
      if (isClosed) return undefined;
      try {
        const result = await write(call);
        if (result === undefined) lose();
        isClosed = true;
        return result;
      } catch (error) {
        onOutage(error);
        await nextHeartbeat.promise;
      }
    }
  };

  return {
    signal: stopController.signal,
    stop,
    heartbeat() {
      nextHeartbeat.resolve();
      nextHeartbeat = Promise.withResolvers();
      if (isClosed || pendingWrite) return;
      if (progressTracker.peek().progress || msSinceRenewal() >= leaseMs / RENEWALS_PER_LEASE) void renew();
    },
    report: (progress) => progressTracker.report(progress),
    getAttemptsLeft: () => (progressTracker.peek().hasAdvanced ? job.attemptsMax : attemptsLeft),
    async finish(state, error) {
      const text = error === undefined ? undefined : formatFailure(error);
      const result = await writeUntilClosed(async () => {
        const { progress } = progressTracker.peek();
        const isWritten = await jobs.finish(id, { leaseOwner, state, at: clock.now(), error: text, progress });
        return isWritten ? state : undefined;
      });
      return result ?? 'lost';
    },
    async release({ delayMs, failure, hasAdvanced = false }) {
      const error = failure === undefined ? undefined : formatFailure(failure);
      const result = await writeUntilClosed(() => {
        const pendingProgress = progressTracker.peek();
        const dueAt = clock.now() + delayMs;
        return jobs.release(id, {
          leaseOwner,
          dueAt,
          error,
          ...pendingProgress,
          hasAdvanced: hasAdvanced || pendingProgress.hasAdvanced,
        });
      });
      // Canceled a moment ago: make the job due at once, so that a worker ends it.
      const isNewCancellation = !job.isCancelled && stopController.signal.reason !== 'cancelled';
      if (result?.isCancelled && isNewCancellation) await jobs.cancel(id, clock.now()).catch(onOutage);
      return result ? 'waiting' : 'lost';
    },
    async abandon() {
      await waitForPendingWrite();
      if (isClosed) return;
      isClosed = true;
      nextHeartbeat.resolve();
      await jobs.release(id, { leaseOwner, dueAt: clock.now(), ...progressTracker.peek() }).catch(onOutage);
    },
  };
}
