import type { RegionId } from '../../core/region.ts';

/** Migration 0012. Runs of deep research. Times are UTC milliseconds. */
export interface ResearchRunsTable {
  id: string;
  region: RegionId;
  workspace: string;
  key_id: string;
  /** Of what was asked: of a key, one of a likeness is unfinished at most. */
  likeness: string;
  state: 'queued' | 'running' | 'done' | 'failed' | 'cancelled';
  /** Of its job: who comes with an older one has lost it. */
  attempt: number;
  /** Number of the last step that is stored; -1 without steps. */
  last_step: number;
  created_at: number;
  /** When its first attempt began. */
  started_at: number | null;
  /** The last sign of life of a reader. */
  read_at: number;
  /** 1 when a reader was given its end. */
  delivered: number;
  ended_at: number | null;
  /** JSON of what it failed with. */
  error: string | null;
  /** JSON of what was asked. */
  body: string;
}

/** Migration 0012. Steps of a run, numbered from 0 without gaps. */
export interface ResearchStepsTable {
  run_id: string;
  /** Primary key together with `run_id`. */
  number: number;
  json: string;
}
