import type { Owner } from './context.ts';

/** Kinds of work that continues after its request was answered and survives a crash of its process. */
export const JOB_KINDS = [
  'batch',
  'batch-callback',
  'deployment',
  'extract',
  'research',
  'response',
  'transcription',
] as const;

export type JobKind = (typeof JOB_KINDS)[number];

/** `waiting`: for its first or its next attempt. The last three are final. */
export const JOB_STATES = ['waiting', 'running', 'done', 'failed', 'cancelled'] as const;

export type JobState = (typeof JOB_STATES)[number];

/** Progress of a job, in units that depend on its kind. */
export interface JobProgress {
  readonly done: number;
  /** Undefined when unknown. */
  readonly total?: number | undefined;
  /** Description of the current step, for people. */
  readonly step?: string | undefined;
}

/** A job to add to the queue. */
export interface JobRequest {
  readonly kind: JobKind;
  /** Id of the object to process, e.g. of a batch. A subject has at most one job of a kind. */
  readonly subject: string;
  readonly owner: Owner;
  /** Only the handler of the job's kind interprets it. */
  readonly payload: Readonly<Record<string, unknown>>;
  /** Lower numbers run first; jobs of equal priority run in the order of their due times. Default: 5. */
  readonly priority?: number | undefined;
  /**
   * Consecutive attempts that may fail or crash before the job fails for good. Progress resets the count. Default: 5.
   */
  readonly attemptsMax?: number | undefined;
  /** UTC milliseconds. Default: now. */
  readonly runAfter?: number | undefined;
}

export interface JobRecord {
  readonly id: string;
  readonly kind: JobKind;
  readonly subject: string;
  readonly owner: Owner;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly state: JobState;
  readonly priority: number;
  /** Number of attempts so far, whatever their result; 1 during the first. */
  readonly attempt: number;
  readonly attemptsMax: number;
  readonly attemptsLeft: number;
  /**
   * UTC milliseconds, like all times here. Waiting: earliest start. Running: end of the lease. Undefined once finished.
   */
  readonly dueAt: number | undefined;
  /** Id of the process that runs the job. */
  readonly leaseOwner: string | undefined;
  readonly isCancelled: boolean;
  readonly progress: JobProgress | undefined;
  /** Why the last attempt failed, for the operator. */
  readonly error: string | undefined;
  readonly createdAt: number;
  readonly startedAt: number | undefined;
  readonly endedAt: number | undefined;
}
