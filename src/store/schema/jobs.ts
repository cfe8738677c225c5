import type { RegionId } from '../../core/region.ts';

/** Migration 0004. Times are UTC milliseconds. */
export interface JobsTable {
  id: string;
  kind: string;
  /** What it works on, e.g. the id of a batch: one job of a kind for a subject. */
  subject: string;
  region: RegionId;
  workspace: string;
  key_id: string;
  /** JSON; only its kind looks inside. */
  payload: string;
  state: 'waiting' | 'running' | 'done' | 'failed' | 'cancelled';
  /** The lower ones first. */
  priority: number;
  /** How often it was begun. */
  attempt: number;
  /** How often it may fail in a row. */
  tries: number;
  /** How often of these it still may. */
  tries_left: number;
  /** Not before; the end of the lease while somebody runs it, and null when it has ended: one index says what is due. */
  due_at: number | null;
  /** Who runs it; null when nobody does. */
  lease_owner: string | null;
  /** Migration 0008. While somebody runs it: it is wanted once more, from then on. */
  again_at: number | null;
  /** 1 when it is to end: whoever runs it sees that when it next looks. */
  is_cancelled: number;
  /** JSON of `JobProgress`. */
  progress: string | null;
  /** Why the last attempt failed, for the operator. */
  error: string | null;
  created_at: number;
  started_at: number | null;
  ended_at: number | null;
}
