import type { BatchProblem, BatchStatus } from '../../../core/batch.ts';
import type { BatchRecord } from '../../../store/batches.ts';
import { encodeMetadata } from '../metadata.ts';

/** Encodes a batch. Every field is present, and null if unknown (docs/wire/openai-compatible.md#batches). */
export function encodeBatch(batch: BatchRecord): object {
  const { status } = batch;
  const secondsIfEnded = (end: BatchStatus): number | null => (status === end ? toUnixSeconds(batch.endedAt) : null);
  // Invalid lines are found during validation, but are counted only once all lines have been validated.
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
    created_at: toUnixSeconds(batch.createdAt),
    in_progress_at: toUnixSeconds(batch.inProgressAt),
    expires_at: toUnixSeconds(batch.expiresAt),
    finalizing_at: toUnixSeconds(batch.finalizingAt),
    completed_at: secondsIfEnded('completed'),
    failed_at: secondsIfEnded('failed'),
    expired_at: secondsIfEnded('expired'),
    cancelling_at: toUnixSeconds(batch.cancellingAt),
    cancelled_at: secondsIfEnded('cancelled'),
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

const toUnixSeconds = (ms: number | undefined): number | null => (ms === undefined ? null : Math.floor(ms / 1000));
