import { ServiceError } from '../../core/error.ts';
import { type IdGenerator, systemIdGenerator } from '../../core/id.ts';
import { BATCH_RESERVATION_CHECK_MS } from '../limits.ts';
import { BATCH_LIST_AGE_MS, BATCH_ATTEMPTS_MAX } from './limits.ts';
import type { Clock } from '../../lib/clock.ts';
import type { TenantScope } from '../../store/tenant-scope.ts';
import type { Store } from '../../store/store.ts';
import type { FileLimits } from '../files/file.ts';
import { BATCH_OUTPUT_BLOB_PREFIX, withFileTotalLock } from '../files/remove.ts';
import type { JobNotifier } from '../jobs/job-notifier.ts';
import { createJob } from '../jobs/create-job.ts';
import { BATCH_NAME_KEY, type Batches } from './batch.ts';
import { getReservedBytes, checkBatchMetadata, checkInput, checkQuota } from './rules.ts';

export interface BatchesDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly notifier: Pick<JobNotifier, 'notify'>;
  /** The limits that also apply to uploads. */
  readonly getLimits: (workspace: string) => FileLimits;
  readonly ids?: IdGenerator;
}

const BATCH_ID = /^batch_[0-9a-f]{32}$/;

export function createBatches({ store, clock, notifier, getLimits, ids = systemIdGenerator }: BatchesDeps): Batches {
  return {
    async create(owner, { inputFileId, endpoint, completionWindow, windowMs, metadata }) {
      checkBatchMetadata(metadata);
      const { region, workspace, keyId } = owner;
      const limits = getLimits(workspace);
      const record = await withFileTotalLock(store, owner, async ({ batches, files, fileTotals, jobs }, total) => {
        const input = checkInput(await files.find(owner, inputFileId), endpoint);
        const bytes = getReservedBytes(input.sizeBytes);
        checkQuota(total, limits, bytes);
        const createdAt = clock.now();
        const id = ids.createSortableId('batch_');
        const outputBlob = ids.createSortableId(BATCH_OUTPUT_BLOB_PREFIX);
        const errorBlob = ids.createSortableId(BATCH_OUTPUT_BLOB_PREFIX);
        for (const blob of [outputBlob, errorBlob]) {
          const leaseUntil = createdAt + BATCH_RESERVATION_CHECK_MS;
          await files.reserve({ blob, region, workspace, keyId, bytes, leaseUntil, at: createdAt, batchId: id });
          await fileTotals.addUsage(owner, { files: 1, bytes });
        }
        const inserted = await batches.insert({
          id,
          region,
          workspace,
          keyId,
          endpoint,
          inputFileId,
          inputBlob: input.blob,
          completionWindow,
          windowMs,
          metadata,
          name: metadata.get(BATCH_NAME_KEY) ?? '',
          outputBlob,
          errorBlob,
          createdAt,
        });
        await jobs.insert(
          createJob(
            { kind: 'batch', subject: id, owner, payload: {}, attemptsMax: BATCH_ATTEMPTS_MAX },
            { ids, clock },
          ),
        );
        return inserted;
      });
      notifier.notify('due');
      return record;
    },

    find: async (owner, id) => (await store.batches.find(owner, id)) ?? throwBatchNotFound(id),

    async list(owner, { after, createdFrom, ...query }) {
      if (after !== undefined && !BATCH_ID.test(after)) throwInvalidCursor(after);
      const oldest = clock.now() - BATCH_LIST_AGE_MS;
      return await store.batches.list(owner, { ...query, after, createdFrom: Math.max(oldest, createdFrom ?? oldest) });
    },

    async cancel(owner, id) {
      const record = await store.transaction(async ({ batches, jobs }) => {
        const batch = await batches.lock(id);
        if (!batch || !isOwnedBy(batch, owner)) return throwBatchNotFound(id);
        if (batch.endedAt !== undefined) {
          throw new ServiceError('conflict', `Cannot cancel a batch with status '${batch.status}'.`);
        }
        if (batch.status === 'cancelling') return batch;
        const at = clock.now();
        const job = await jobs.findBySubject('batch', id);
        if (job) await jobs.cancel(job.id, at);
        return await batches.update(id, { status: 'cancelling', cancellingAt: at });
      });
      notifier.notify('cancelled');
      return record;
    },
  };
}

const isOwnedBy = (scope: TenantScope, { region, workspace }: TenantScope): boolean =>
  scope.region === region && scope.workspace === workspace;

const shorten = (id: string): string => id.slice(0, 80).toWellFormed();

function throwBatchNotFound(id: string): never {
  throw new ServiceError('not-found', `No batch found with id '${shorten(id)}'.`);
}

function throwInvalidCursor(after: string): never {
  throw new ServiceError('invalid-request', `after must be the id of a batch, got '${shorten(after)}'.`, {
    param: 'after',
  });
}
