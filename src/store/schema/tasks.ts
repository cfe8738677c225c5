import type { RegionId } from '../../core/region.ts';

/** Created by migration 0010: asynchronous work as its callers see it. Times are UTC milliseconds. */
export interface TasksTable {
  id: string;
  region: RegionId;
  workspace: string;
  key_id: string;
  request_id: string;
  /** Model name as requested. */
  model: string;
  /** Group, task and function, separated by slashes. */
  service: string;
  status: 'pending' | 'running' | 'suspended' | 'succeeded' | 'failed' | 'cancelled';
  submitted_at: number;
  started_at: number | null;
  ended_at: number | null;
  /** JSON of the error of a failed task. */
  error: string | null;
  /** JSON of the request; interpreted by the task's kind only. */
  wish: string;
}

/** Created by migration 0010: one audio file of a transcription. */
export interface TranscriptionPartsTable {
  task_id: string;
  /** Counts from 0 in the order of the request. Primary key together with `task_id`. */
  number: number;
  /** URL of the audio as requested. */
  source: string;
  state: 'waiting' | 'succeeded' | 'failed';
  /** Blob name of the downloaded audio while the transcription runs; null without a download. */
  source_blob: string | null;
  /** Size of the downloaded audio; null until the download has finished. */
  source_bytes: number | null;
  /** JSON of the metadata of a completely transcribed audio. */
  facts: string | null;
  code: string | null;
  message: string | null;
}

/** Created by migration 0010: transcribed windows of an audio, ordered by number. */
export interface TranscriptionWindowsTable {
  task_id: string;
  part: number;
  channel: number;
  number: number;
  /** Index of the first sample after the window: a resumed transcription starts there. */
  end_sample: number;
  /** JSON. */
  text: string;
}
