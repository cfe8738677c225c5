import type { Owner } from './context.ts';

/** Work that goes on after its request was answered, and survives the process that does it. */
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

/** `waiting` for its turn, or for its next try; the last three are ends. */
export const JOB_STATES = ['waiting', 'running', 'done', 'failed', 'cancelled'] as const;

export type JobState = (typeof JOB_STATES)[number];

/** How far it is; counted in whatever its kind works through. */
export interface JobProgress {
  readonly done: number;
  /** Undefined where nobody knows. */
  readonly total?: number | undefined;
  /** What it is at, for a person. */
  readonly step?: string | undefined;
}

/** What is asked of the queue. */
export interface JobWish {
  readonly kind: JobKind;
  /** What it works on, e.g. the id of a batch. There is at most one job of a kind for a subject. */
  readonly subject: string;
  readonly owner: Owner;
  /** Only its kind looks inside. */
  readonly payload: Readonly<Record<string, unknown>>;
  /** The lower ones first; those of one priority in the order in which they are due. Default: 5. */
  readonly priority?: number | undefined;
  /** How often in a row it may fail, or end with its process, before it is given up: what moves on has all of them again. Default: 5. */
  readonly tries?: number | undefined;
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
  /** Counts from 1 while it runs for the first time, whatever an attempt ended with. */
  readonly attempt: number;
  readonly tries: number;
  readonly triesLeft: number;
  /** UTC milliseconds, as all times here: not run before, or counted as dead after; undefined when it has ended. */
  readonly dueAt: number | undefined;
  /** The process that runs it. */
  readonly leaseOwner: string | undefined;
  readonly isCancelled: boolean;
  readonly progress: JobProgress | undefined;
  /** Why the last try failed, for the operator. */
  readonly error: string | undefined;
  readonly createdAt: number;
  readonly startedAt: number | undefined;
  readonly endedAt: number | undefined;
}
