import type { JobKind, JobProgress, JobRecord } from '../core/job.ts';

/** Input of a handler for one attempt at a job. */
export interface JobContext {
  readonly job: JobRecord;
  /**
   * Aborts with a `JobStopReason`: the job was canceled, its lease was lost, or this process shuts down. The handler
   * then rejects soon; what it wrote before stays valid.
   */
  readonly signal: AbortSignal;
  /**
   * Reports progress for lists and the command line; written with the next lease renewal. If `done` rises within a
   * step, the job gets all of its attempts again.
   */
  report(progress: JobProgress): void;
}

/**
 * `cancelled`: by owner or operator. `lost`: another process has the job. `shutdown`: the job continues elsewhere or
 * later.
 */
export type JobStopReason = 'cancelled' | 'lost' | 'shutdown';

/**
 * Delay before a failed job runs again: `minMs`, doubled with each failure in a row up to `maxMs`, with random jitter.
 */
export interface RetryBackoff {
  readonly minMs: number;
  readonly maxMs: number;
}

/** `rerun`: runs the job once more after `delayMs`; this is no failure and costs no attempt. */
export type JobOutcome = { readonly type: 'done' } | { readonly type: 'rerun'; readonly delayMs: number };

/**
 * Runs jobs of one kind. A job may run again at any time, in another process and after any of its steps: every write
 * must be idempotent, by a unique key or by a transaction that reads the current state first.
 */
export interface JobHandler {
  /** Jobs of the kind that run concurrently in one process. Default: JOB_CONCURRENCY_DEFAULT. */
  readonly concurrency?: number;
  /** Delays: JOB_RETRY_MS_MIN and JOB_RETRY_MS_MAX by default. */
  readonly backoff?: RetryBackoff;
  /**
   * Rejects if the job failed: the job runs again later while attempts are left. A job that completes although it was
   * canceled meanwhile counts as done.
   */
  run(context: JobContext): Promise<JobOutcome>;
  /** Called after the last attempt failed, to tell the subject's owner. May be called more than once, like `run`. */
  giveUp?(job: JobRecord, error: unknown): Promise<void>;
  /**
   * Called after a waiting or running job was canceled, to end the subject. May be called more than once, like `run`.
   */
  cancel?(job: JobRecord): Promise<void>;
}

/** Handlers of this process by job kind; jobs of other kinds are left to other processes. */
export type JobHandlers = Partial<Record<JobKind, JobHandler>>;
