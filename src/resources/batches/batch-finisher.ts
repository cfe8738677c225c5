import type { BlobStore } from '../../blobs/blob-store.ts';
import type { BatchProblem, BatchStatus } from '../../core/batch.ts';
import { ServiceError } from '../../core/error.ts';
import type { IdGenerator } from '../../core/id.ts';
import { FILE_LEASE_MS } from '../limits.ts';
import type { Log } from '../../core/telemetry.ts';
import { assert } from '../../lib/assert.ts';
import type { Clock } from '../../lib/clock.ts';
import type { BatchRecord } from '../../store/batches.ts';
import type { Store, Tables } from '../../store/store.ts';
import { BATCH_OUTPUT_PURPOSE } from '../files/file.ts';
import { deleteBlobAndRows, withFileTotalLock } from '../files/remove.ts';
import { parseSortKey } from '../files/rules.ts';
import type { JobNotifier } from '../jobs/job-notifier.ts';
import { createJob } from '../jobs/create-job.ts';
import { BATCH_CALLBACK_KEY, type BatchLifecycle, type ResultFile, RESERVATION_LASTS } from './batch.ts';
import { removeLines } from './line-cleanup.ts';

interface BatchFinisherDeps {
  readonly store: Store;
  readonly blobs: BlobStore;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
  readonly notifier: Pick<JobNotifier, 'notify'>;
  readonly ids: IdGenerator;
}

interface BatchConclusion {
  readonly status: BatchStatus;
  readonly written: Parameters<BatchLifecycle['finish']>[1];
  readonly errors?: readonly BatchProblem[];
}

/** Attempts at the completion callback, which spread over about one hour. */
const CALLBACK_ATTEMPTS_MAX = 6;

/** Applies a batch's final state: result files, storage quota, status and callback job. */
export function createBatchFinisher({ store, blobs, clock, log, notifier, ids }: BatchFinisherDeps) {
  /**
   * Turns a reservation into a file of its actual size, or releases it.
   * @returns the file's id, or the blob to delete.
   */
  const settleReservation = async (
    { files, fileTotals }: Tables,
    batch: BatchRecord,
    { blob, kind, lines, written }: { blob: string; kind: 'output' | 'error'; lines: number; written?: ResultFile },
  ): Promise<{ readonly id?: string; readonly unused?: string }> => {
    const at = clock.now();
    if (lines === 0) {
      const reservation = await files.retireReservation(blob, { leaseUntil: at + FILE_LEASE_MS, at });
      // The reservation may be gone already; a batch must always be able to end.
      if (reservation) await fileTotals.addUsage(batch, { files: -1, bytes: -reservation.bytes });
      return { unused: blob };
    }
    if (written?.blob !== blob) throw takenOverError(batch.id);
    const id = ids.createSortableId(`file-batch_${kind}-`);
    const activated = await files.activate(blob, {
      id,
      sortKey: parseSortKey(id) ?? id,
      number: await fileTotals.nextNumber(),
      name: `${batch.id}_${kind}.jsonl`,
      description: '',
      purpose: BATCH_OUTPUT_PURPOSE,
      sizeBytes: written.sizeBytes,
      md5: written.md5,
      createdAt: at,
    });
    assert(activated, RESERVATION_LASTS);
    // A file may exceed its reservation: it is counted but not rejected, because the work is done.
    await fileTotals.addUsage(batch, { files: 0, bytes: written.sizeBytes - activated.reservedBytes });
    await fileTotals.addToActiveCount(batch, BATCH_OUTPUT_PURPOSE, 1);
    return { id };
  };

  const cleanUp = async (id: string, unused: readonly string[]): Promise<void> => {
    try {
      for (const blob of unused) await deleteBlobAndRows({ store, blobs }, blob);
      await removeLines(store, id);
    } catch (error) {
      log.warn('batch cleanup failed; it is repeated later', { error: String(error) });
    }
  };

  return {
    /** Has no effect if the batch has ended. @throws ServiceError `conflict` if another process writes its files. */
    async finish(id: string, decide: (batch: BatchRecord) => BatchConclusion): Promise<BatchRecord | undefined> {
      const known = await store.batches.findInAnyTenant(id);
      if (!known || known.endedAt !== undefined) return known;
      const finished = await withFileTotalLock(store, known, async (tables) => {
        const { batches, jobs } = tables;
        const batch = await batches.lock(id);
        if (!batch || batch.endedAt !== undefined) return { batch, unused: [], hasCallback: false };
        const { status, written, errors } = decide(batch);
        // A batch that never started or failed as a whole has no results.
        const hasResults = batch.inProgressAt !== undefined && status !== 'failed';
        const counts = hasResults ? batch.counts : { total: 0, completed: 0, failed: 0 };
        const { outputBlob, errorBlob } = batch;
        const output = {
          blob: outputBlob,
          kind: 'output',
          lines: counts.completed,
          ...withFile(written.output),
        } as const;
        const error = { blob: errorBlob, kind: 'error', lines: counts.failed, ...withFile(written.error) } as const;
        const outputFile = await settleReservation(tables, batch, output);
        const errorFile = await settleReservation(tables, batch, error);
        const at = clock.now();
        const outputFileId = outputFile.id;
        const changes = {
          status,
          errors,
          counts,
          outputFileId,
          errorFileId: errorFile.id,
          endedAt: at,
          linesUntil: at,
        };
        const hasCallback = batch.metadata.has(BATCH_CALLBACK_KEY);
        if (hasCallback) {
          const request = {
            kind: 'batch-callback',
            subject: id,
            owner: batch,
            payload: {},
            attemptsMax: CALLBACK_ATTEMPTS_MAX,
          } as const;
          await jobs.insert(createJob(request, { ids, clock }));
        }
        const unused = [outputFile.unused, errorFile.unused].filter((blob) => blob !== undefined);
        return { batch: await batches.update(id, changes), unused, hasCallback };
      });
      if (finished.hasCallback) notifier.notify('due');
      await cleanUp(id, finished.unused);
      return finished.batch;
    },
  };
}

const withFile = (written: ResultFile | undefined) => (written ? { written } : {});

const takenOverError = (id: string): ServiceError =>
  new ServiceError('conflict', `The results of batch '${id}' are being written by another process.`);
