import type { BlobStore } from '../../blobs/blob-store.ts';
import type { BatchEnd, BatchStatus } from '../../core/batch.ts';
import { type Ids, systemIds } from '../../core/id.ts';
import { BATCH_PROBLEMS_MAX, BATCH_RESULTS_PAGE_MAX } from '../../core/limits.ts';
import type { Log } from '../../core/telemetry.ts';
import { assert } from '../../lib/assert.ts';
import type { Clock } from '../../lib/clock.ts';
import type { BatchChanges, BatchRecord } from '../../store/batches.ts';
import type { Store } from '../../store/store.ts';
import { RESULTS_BLOB_PREFIX } from '../files/remove.ts';
import type { JobBell } from '../jobs/job-bell.ts';
import type { BatchWork } from './batch.ts';
import { createEnding } from './ending.ts';

export interface BatchWorkNeeds {
  readonly store: Store;
  readonly blobs: BlobStore;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
  readonly bell: Pick<JobBell, 'ring'>;
  readonly ids?: Ids;
}

export function createBatchWork(needs: BatchWorkNeeds): BatchWork {
  const { store, blobs, clock, log, ids = systemIds } = needs;
  const ending = createEnding({ ...needs, ids });
  const find = (id: string) => store.batches.findAnywhere(id);

  return {
    find,

    start: (id, { model, total }) =>
      store.transaction(async ({ batches }) => {
        const batch = await batches.lock(id);
        if (batch?.status !== 'validating') return batch;
        const at = clock.now();
        return await batches.change(id, {
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
        return (await batches.change(id, { counts })).counts;
      }),

    doneLines: async (id, range) => new Set(await store.batchLines.done(id, range)),

    async beginFinalizing(id, endsAs) {
      const outputBlob = ids.sortable(RESULTS_BLOB_PREFIX);
      const errorBlob = ids.sortable(RESULTS_BLOB_PREFIX);
      const { before, after } = await store.transaction(async ({ batches, files }) => {
        const batch = await batches.lock(id);
        if (!batch || batch.endedAt !== undefined) return { after: batch };
        for (const [blob, to] of [
          [batch.outputBlob, outputBlob],
          [batch.errorBlob, errorBlob],
        ] as const) {
          assert(await files.rename(blob, to), 'room for results is there until their batch ends');
        }
        const changes = finalizing(batch, endsAs, clock.now());
        return { before: batch, after: await batches.change(id, { ...changes, outputBlob, errorBlob }) };
      });
      // Of an attempt that was broken off. Nothing knows these names any more: what is left now is an orphan and swept.
      for (const blob of before ? [before.outputBlob, before.errorBlob] : []) {
        try {
          await blobs.abandon(blob);
          await blobs.delete(blob);
        } catch (error) {
          log.warn('what is left of results that were begun is swept later', { error: String(error) });
        }
      }
      return after;
    },

    async *readResults(id, kind) {
      let after = 0;
      for (;;) {
        const page = await store.batchLines.read(id, { kind, after, limit: BATCH_RESULTS_PAGE_MAX });
        for (const { json } of page) yield json;
        const last = page.at(-1);
        if (!last || page.length < BATCH_RESULTS_PAGE_MAX) return;
        after = last.line;
      }
    },

    finish: (id, written) =>
      ending.end(id, (batch) => {
        assert(batch.endsAs !== undefined, 'a batch is finalized before it is finished');
        // Whoever cancelled it last was told so.
        const status: BatchStatus = batch.status === 'cancelling' ? 'cancelled' : batch.endsAs;
        return { status, written };
      }),

    fail: (id, problems) =>
      ending.end(id, () => ({ status: 'failed', written: {}, errors: problems.slice(0, BATCH_PROBLEMS_MAX) })),
  };
}

/** `finalizing` or `cancelling`; when it came to that stays. */
function finalizing(batch: BatchRecord, endsAs: BatchEnd, now: number): BatchChanges {
  if (endsAs === 'cancelled' || batch.status === 'cancelling') {
    return { status: 'cancelling', cancellingAt: batch.cancellingAt ?? now, endsAs: 'cancelled' };
  }
  return { status: 'finalizing', finalizingAt: batch.finalizingAt ?? now, endsAs: batch.endsAs ?? endsAs };
}
