import type { BatchOutcome, BatchStatus, BatchResultKind } from '../../core/batch.ts';
import type { RegionId } from '../../core/region.ts';

/** Created by migration 0005. Times are UTC milliseconds. */
export interface BatchesTable {
  id: string;
  region: RegionId;
  workspace: string;
  key_id: string;
  endpoint: string;
  input_file_id: string;
  input_blob: string;
  /** The completion window as the client sent it; `window_ms` is its length. */
  completion_window: string;
  window_ms: number;
  status: BatchStatus;
  /** Final status, set when the batch accepts no more results. */
  ends_as: BatchOutcome | null;
  /** JSON: a list of key-value pairs. */
  metadata: string;
  /** Lower-case name, for the name filter of lists. */
  name_folded: string;
  /** Model of the lines; null until validation has finished. */
  model: string | null;
  /** JSON of `BatchProblem[]`; null unless the batch failed. */
  errors: string | null;
  /** Blob names of the result files: rows of `files` that stay reserved until the batch ends. */
  output_blob: string;
  error_blob: string;
  /** ID of the created result file; null without one. */
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
  /** `status` says how the batch ended. */
  ended_at: number | null;
  /**
   * When the stored lines became obsolete; null before that and after their removal. Its index finds lines to remove.
   */
  lines_until: number | null;
}

/**
 * Created by migration 0005: one row per line that has a result. Rows are removed once the result files are written.
 */
export interface BatchLinesTable {
  batch: string;
  line: number;
  kind: BatchResultKind;
  /** One line of the result file, without its line break. */
  json: string;
}
