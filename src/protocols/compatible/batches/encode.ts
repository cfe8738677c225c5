import type { BatchProblem, BatchStatus } from '../../../core/batch.ts';
import type { BatchRecord } from '../../../store/batches.ts';
import { encodeMetadata } from '../metadata-of.ts';

/** wire.md E9.3: every field is there, and null where nothing is known. */
export function encodeBatch(batch: BatchRecord): object {
  const { status } = batch;
  const endedAs = (end: BatchStatus): number | null => (status === end ? seconds(batch.endedAt) : null);
  // Lines that are no requests are found while it validates; they count once all have been looked at.
  const counts = status === 'validating' ? { total: 0, completed: 0, failed: 0 } : batch.counts;
  return {
    id: batch.id,
    object: 'batch',
    endpoint: batch.endpoint,
    errors: batch.errors === undefined ? null : { object: 'list', data: batch.errors.map(encodeProblem) },
    input_file_id: batch.inputFileId,
    completion_window: batch.completionWindow,
    status,
    output_file_id: batch.outputFileId ?? null,
    error_file_id: batch.errorFileId ?? null,
    created_at: seconds(batch.createdAt),
    in_progress_at: seconds(batch.inProgressAt),
    expires_at: seconds(batch.expiresAt),
    finalizing_at: seconds(batch.finalizingAt),
    completed_at: endedAs('completed'),
    failed_at: endedAs('failed'),
    expired_at: endedAs('expired'),
    cancelling_at: seconds(batch.cancellingAt),
    cancelled_at: endedAs('cancelled'),
    request_counts: { total: counts.total, completed: counts.completed, failed: counts.failed },
    metadata: encodeMetadata(batch.metadata),
  };
}

export const encodeBatchList = (batches: readonly BatchRecord[], { hasMore }: { readonly hasMore: boolean }) => ({
  object: 'list',
  data: batches.map(encodeBatch),
  first_id: batches[0]?.id ?? null,
  last_id: batches.at(-1)?.id ?? null,
  has_more: hasMore,
});

const encodeProblem = ({ code, message, param, line }: BatchProblem) => ({
  code,
  message,
  param: param ?? null,
  line: line ?? null,
});

const seconds = (ms: number | undefined): number | null => (ms === undefined ? null : Math.floor(ms / 1000));
