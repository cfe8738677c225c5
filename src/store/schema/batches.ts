import type { BatchEnd, BatchStatus, ResultKind } from '../../core/batch.ts';
import type { RegionId } from '../../core/region.ts';

/** Migration 0005. Times are UTC milliseconds. */
export interface BatchesTable {
  id: string;
  region: RegionId;
  workspace: string;
  key_id: string;
  endpoint: string;
  input_file_id: string;
  input_blob: string;
  /** As it was sent, and what it comes to. */
  completion_window: string;
  window_ms: number;
  status: BatchStatus;
  /** Once no more results are taken in: what it ends as. */
  ends_as: BatchEnd | null;
  /** JSON, a list of pairs. */
  metadata: string;
  /** What lists look for in its name: in lower case. */
  name_folded: string;
  /** Of its lines; null until they have been looked at. */
  model: string | null;
  /** JSON of `BatchProblem[]`; null where it did not fail. */
  errors: string | null;
  /** Where its results will lie: rows of `files`, reserved until it ends. */
  output_blob: string;
  error_blob: string;
  /** Of a file that was made. */
  output_file_id: string | null;
  error_file_id: string | null;
  total: number;
  completed: number;
  failed: number;
  created_at: number;
  in_progress_at: number | null;
  expires_at: number | null;
  finalizing_at: number | null;
  cancelling_at: number | null;
  /** What it ended as is its status. */
  ended_at: number | null;
  /** When its lines became of no use; null before, and when they are gone: one index says whose are left. */
  lines_until: number | null;
}

/** Migration 0005. One row for each line that has its result; they go when they stand in the files. */
export interface BatchLinesTable {
  batch: string;
  line: number;
  kind: ResultKind;
  /** A line of the file, without its end. */
  json: string;
}
