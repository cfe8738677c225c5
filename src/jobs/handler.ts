import type { JobKind, JobProgress, JobRecord } from '../core/job.ts';

/** What a handler has while it works. */
export interface JobRun {
  readonly job: JobRecord;
  /**
   * Aborts with a `JobStop` as its reason: the job was cancelled, its lease went to somebody else, or this process shuts
   * down. The handler then ends soon, and rejects; what it wrote before counts.
   */
  readonly signal: AbortSignal;
  /**
   * For lists and the command line; written with the next sign of life. Where `done` rises within a step, the job moves on: it
   * has all of its tries again.
   */
  report(progress: JobProgress): void;
}

/** `cancelled`: by its owner or the operator. `lost`: another process has it. `shutdown`: it goes on elsewhere, or here later. */
export type JobStop = 'cancelled' | 'lost' | 'shutdown';

/** When a failed job is tried again: after `firstMs`, doubled with each failure in a row, up to `mostMs`; a part of it by chance. */
export interface RetryPace {
  readonly firstMs: number;
  readonly mostMs: number;
}

/** `done`, or once more after so many ms: that is no failure and costs no try. */
export type JobOutcome = { readonly type: 'done' } | { readonly type: 'again'; readonly afterMs: number };

/**
 * Moves the world towards what its job wants. It may be run again at any moment, also by another process and after any of
 * its own steps: whatever it writes, it writes under a key or in a transaction that looks first.
 */
export interface JobHandler {
  /** How many of the kind run at a time in one process. Default: JOBS_AT_ONCE_DEFAULT. */
  readonly atOnce?: number;
  /** Default: JOB_RETRY_MS_MIN and JOB_RETRY_MS_MAX. */
  readonly retry?: RetryPace;
  /**
   * Rejects where it failed: it is tried again later, until no try is left. What is done although it was cancelled meanwhile
   * is done.
   */
  run(run: JobRun): Promise<JobOutcome>;
  /** After the last try failed: the subject's owner has to be told. May be called again, as `run`. */
  giveUp?(job: JobRecord, error: unknown): Promise<void>;
  /** After it was cancelled, by whom ever, running or waiting: ends the subject. May be called again, as `run`. */
  cancel?(job: JobRecord): Promise<void>;
}

/** Who does what here; a kind without a handler is left to other processes. */
export type JobHandlers = Partial<Record<JobKind, JobHandler>>;
