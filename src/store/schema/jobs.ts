import type { RegionId } from '../../core/region.ts';

/** Created by migration 0004. Times are UTC milliseconds. */
export interface JobsTable {
  id: string;
  kind: string;
  /** ID of the object that the job works on, e.g. of a batch. Unique within a job kind. */
  subject: string;
  region: RegionId;
  workspace: string;
  key_id: string;
  /** JSON; interpreted by the job's kind only. */
  payload: string;
  state: 'waiting' | 'running' | 'done' | 'failed' | 'cancelled';
  /** Jobs with lower numbers run first. */
  priority: number;
  /** Number of attempts started so far. */
  attempt: number;
  /** Number of failures in a row that are allowed. */
  tries: number;
  /** Failures still allowed before the job is given up. */
  tries_left: number;
  /** Earliest start if waiting, end of the lease if running, null if ended. Its index finds all due jobs. */
  due_at: number | null;
  /** Name of the process that runs the job; null if no process does. */
  lease_owner: string | null;
  /** Added by migration 0008: start time of the next run, if the job was requeued while it runs. */
  again_at: number | null;
  /** 1 if the job is to be canceled; the process that runs the job notices at its next poll. */
  is_cancelled: number;
  /** JSON of `JobProgress`. */
  progress: string | null;
  /** Why the last attempt failed; for the operator. */
  error: string | null;
  created_at: number;
  started_at: number | null;
  ended_at: number | null;
}
