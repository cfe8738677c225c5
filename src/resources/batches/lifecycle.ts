import type { BlobStore } from '../../blobs/blob-store.ts';
import type { BatchOutcome, BatchStatus } from '../../core/batch.ts';
import { type IdGenerator, systemIdGenerator } from '../../core/id.ts';
import { BATCH_PROBLEMS_MAX } from '../../core/limits.ts';
import { BATCH_RESULTS_PAGE_MAX } from './limits.ts';
import type { Log } from '../../core/telemetry.ts';
import { assert } from '../../lib/assert.ts';
import type { Clock } from '../../lib/clock.ts';
import type { BatchChanges, BatchRecord } from '../../store/batches.ts';
import type { Store } from '../../store/store.ts';
import { BATCH_OUTPUT_BLOB_PREFIX } from '../files/remove.ts';
import type { JobNotifier } from '../jobs/job-notifier.ts';
import { RESERVATION_LASTS, type BatchLifecycle } from './batch.ts';
import { createBatchFinisher } from './batch-finisher.ts';

export interface BatchLifecycleDeps {
  readonly store: Store;
  readonly blobs: BlobStore;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
  readonly notifier: Pick<JobNotifier, 'notify'>;
  readonly ids?: IdGenerator;
}

export function createBatchLifecycle(deps: BatchLifecycleDeps): BatchLifecycle {
  const { store, blobs, clock, log, ids = systemIdGenerator } = deps;
  const finisher = createBatchFinisher({ ...deps, ids });
  const find = (id: string) => store.batches.findInAnyTenant(id);

  return {
    find,

    start: (id, { model, total }) =>
      store.transaction(async ({ batches }) => {
        const batch = await batches.lock(id);
        if (batch?.status !== 'validating') return batch;
        const at = clock.now();
        return await batches.update(id, {
          status: 'in_progress',
          inProgressAt: at,
          expiresAt: batch.createdAt + batch.windowMs,
          model,
          counts: { ...batch.counts, total },
        });
      }),

    addResults: (id, results) =>
      store.transaction(async ({ batches, batchLines }) => {
        const batch = await batches.lock(id);
        if (!batch || batch.endedAt !== undefined || batch.endsAs !== undefined) return undefined;
        const added = await batchLines.insert(id, results);
        const completed = added.filter(({ kind }) => kind === 'output').length;
        const counts = {
          total: batch.counts.total,
          completed: batch.counts.completed + completed,
          failed: batch.counts.failed + added.length - completed,
        };
        return (await batches.update(id, { counts })).counts;
      }),

    findCompletedLines: async (id, range) => new Set(await store.batchLines.listDone(id, range)),

    async startFinalizing(id, endsAs) {
      const outputBlob = ids.createSortableId(BATCH_OUTPUT_BLOB_PREFIX);
      const errorBlob = ids.createSortableId(BATCH_OUTPUT_BLOB_PREFIX);
      const { before, after } = await store.transaction(async ({ batches, files }) => {
        const batch = await batches.lock(id);
        if (!batch || batch.endedAt !== undefined) return { after: batch };
        for (const [blob, newBlob] of [
          [batch.outputBlob, outputBlob],
          [batch.errorBlob, errorBlob],
        ] as const) {
          assert(await files.renameReservedBlob(blob, newBlob), RESERVATION_LASTS);
        }
        const changes = finalizingChanges(batch, endsAs, clock.now());
        return { before: batch, after: await batches.update(id, { ...changes, outputBlob, errorBlob }) };
      });
      // Delete files of an interrupted attempt. No record names them any more: if this fails, they are collected as
      // orphans.
      for (const blob of before ? [before.outputBlob, before.errorBlob] : []) {
        try {
          await blobs.abortUpload(blob);
          await blobs.delete(blob);
        } catch (error) {
          log.warn('deletion of interrupted batch results failed; they are collected later', { error: String(error) });
        }
      }
      return after;
    },

    async *readResults(id, kind) {
      let after = 0;
      for (;;) {
        const page = await store.batchLines.list(id, { kind, after, limit: BATCH_RESULTS_PAGE_MAX });
        for (const { json } of page) yield json;
        const last = page.at(-1);
        if (!last || page.length < BATCH_RESULTS_PAGE_MAX) return;
        after = last.line;
      }
    },

    finish: (id, written) =>
      finisher.finish(id, (batch) => {
        assert(batch.endsAs !== undefined, 'a batch is finalized before it is finished');
        // The client that canceled the batch last has been told so.
        const status: BatchStatus = batch.status === 'cancelling' ? 'cancelled' : batch.endsAs;
        return { status, written };
      }),

    fail: (id, problems) =>
      finisher.finish(id, () => ({ status: 'failed', written: {}, errors: problems.slice(0, BATCH_PROBLEMS_MAX) })),
  };
}

/** Changes to `finalizing` or `cancelling`; the time of the first change is kept. */
function finalizingChanges(batch: BatchRecord, endsAs: BatchOutcome, now: number): BatchChanges {
  if (endsAs === 'cancelled' || batch.status === 'cancelling') {
    return { status: 'cancelling', cancellingAt: batch.cancellingAt ?? now, endsAs: 'cancelled' };
  }
  return { status: 'finalizing', finalizingAt: batch.finalizingAt ?? now, endsAs: batch.endsAs ?? endsAs };
}
