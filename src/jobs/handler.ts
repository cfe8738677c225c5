import type { JobProgress, JobRecord } from '../core/job.ts';

/** What a handler has while it works. */
export interface JobRun {
  readonly job: JobRecord;
  /**
   * Aborts with a `JobStop` as its reason: the job was cancelled, its lease went to somebody else, or this process shuts
   * down. The handler then ends soon, and rejects; what it wrote before counts.
   */
  readonly signal: AbortSignal;
  /** For lists and the command line; written with the next sign of life. */
  report(progress: JobProgress): void;
}

/** `cancelled`: by its owner or the operator. `lost`: another process has it. `shutdown`: it goes on elsewhere, or here later. */
export type JobStop = 'cancelled' | 'lost' | 'shutdown';

/** `done`, or once more after so many ms: that is no failure and costs no try. */
export type JobOutcome = { readonly type: 'done' } | { readonly type: 'again'; readonly afterMs: number };

/**
 * Moves the world towards what its job wants. It may be run again at any moment, also by another process and after any of
 * its own steps: whatever it writes, it writes under a key or in a transaction that looks first.
 */
export interface JobHandler {
  /** Rejects where it failed: it is tried again later, until no try is left. */
  run(run: JobRun): Promise<JobOutcome>;
  /** After the last try failed, once: the subject's owner has to be told. */
  giveUp?(job: JobRecord, error: unknown): Promise<void>;
  /** After it was cancelled, by whom ever, running or waiting: ends the subject. May be called again, as `run`. */
  cancel?(job: JobRecord): Promise<void>;
}
