import type { RegionId } from '../../core/region.ts';

/** Created by migration 0012: runs of deep research. Times are UTC milliseconds. */
export interface ResearchRunsTable {
  id: string;
  region: RegionId;
  workspace: string;
  key_id: string;
  /** Fingerprint of the request. A key has at most one unfinished run per fingerprint. */
  likeness: string;
  state: 'queued' | 'running' | 'done' | 'failed' | 'cancelled';
  /** Number of the job attempt that owns the run. Writes by an older attempt are rejected. */
  attempt: number;
  /** Number of the last stored step; -1 without steps. */
  last_step: number;
  created_at: number;
  /** Start of the first attempt. */
  started_at: number | null;
  /** Last time a reader polled the run. */
  read_at: number;
  /** 1 if a reader has received the end of the run. */
  delivered: number;
  ended_at: number | null;
  /** JSON of the error of a failed run. */
  error: string | null;
  /** JSON of the request. */
  body: string;
}

/** Created by migration 0012: steps of a run, numbered from 0 without gaps. */
export interface ResearchStepsTable {
  run_id: string;
  /** Primary key together with `run_id`. */
  number: number;
  json: string;
}
