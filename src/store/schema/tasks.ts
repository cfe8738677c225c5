import type { RegionId } from '../../core/region.ts';

/** Migration 0010. Work that goes on after its request was answered, as its callers see it. Times are UTC milliseconds. */
export interface TasksTable {
  id: string;
  region: RegionId;
  workspace: string;
  key_id: string;
  request_id: string;
  /** As asked. */
  model: string;
  /** Group, task and use, with slashes between them. */
  service: string;
  status: 'pending' | 'running' | 'suspended' | 'succeeded' | 'failed' | 'cancelled';
  submitted_at: number;
  started_at: number | null;
  ended_at: number | null;
  /** JSON of the error that it failed with. */
  error: string | null;
  /** JSON of what was asked; only its kind looks inside. */
  wish: string;
}

/** Migration 0010. One audio of a transcription. */
export interface TranscriptionPartsTable {
  task_id: string;
  /** From 0, in the order in which they were asked for. Primary key together with `task_id`. */
  number: number;
  /** Its address, as asked. */
  source: string;
  state: 'waiting' | 'succeeded' | 'failed';
  /** Where its bytes are while it is worked at, if they were fetched. */
  source_blob: string | null;
  /** Null until the blob is there. */
  source_bytes: number | null;
  /** JSON of what is known of an audio that was heard to its end. */
  facts: string | null;
  code: string | null;
  message: string | null;
}

/** Migration 0010. What was heard of an audio, in the order of their numbers. */
export interface TranscriptionWindowsTable {
  task_id: string;
  part: number;
  channel: number;
  number: number;
  /** The sample behind it: what goes on, goes on there. */
  end_sample: number;
  /** JSON. */
  text: string;
}
