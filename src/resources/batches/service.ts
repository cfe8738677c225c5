import { ServiceError } from '../../core/error.ts';
import { type Ids, systemIds } from '../../core/id.ts';
import { BATCH_HOLD_MS, BATCH_LIST_AGE_MS, BATCH_TRIES } from '../../core/limits.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Place } from '../../store/conversations.ts';
import type { Store } from '../../store/store.ts';
import type { FileLimits } from '../files/file.ts';
import { RESULTS_BLOB_PREFIX, withTotal } from '../files/remove.ts';
import type { JobBell } from '../jobs/job-bell.ts';
import { newJob } from '../jobs/new-job.ts';
import { BATCH_NAME, type Batches } from './batch.ts';
import { bytesReserved, checkBatchMetadata, checkInput, checkRoom } from './rules.ts';

export interface BatchesNeeds {
  readonly store: Store;
  readonly clock: Clock;
  readonly bell: Pick<JobBell, 'ring'>;
  /** As for uploads. */
  readonly limitsOf: (workspace: string) => FileLimits;
  readonly ids?: Ids;
}

const ID = /^batch_[0-9a-f]{32}$/;

export function createBatches({ store, clock, bell, limitsOf, ids = systemIds }: BatchesNeeds): Batches {
  return {
    async create(owner, { inputFileId, endpoint, completionWindow, windowMs, metadata }) {
      checkBatchMetadata(metadata);
      const { region, workspace, keyId } = owner;
      const limits = limitsOf(workspace);
      const record = await withTotal(store, owner, async ({ batches, files, fileTotals, jobs }, total) => {
        const input = checkInput(await files.find(owner, inputFileId), endpoint);
        const bytes = bytesReserved(input.sizeBytes);
        checkRoom(total, limits, bytes);
        const createdAt = clock.now();
        const id = ids.sortable('batch_');
        const outputBlob = ids.sortable(RESULTS_BLOB_PREFIX);
        const errorBlob = ids.sortable(RESULTS_BLOB_PREFIX);
        for (const blob of [outputBlob, errorBlob]) {
          const leaseUntil = createdAt + BATCH_HOLD_MS;
          await files.reserve({ blob, region, workspace, keyId, bytes, leaseUntil, at: createdAt, heldFor: id });
          await fileTotals.add(owner, { files: 1, bytes });
        }
        const made = await batches.insert({
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
          name: metadata.get(BATCH_NAME) ?? '',
          outputBlob,
          errorBlob,
          createdAt,
        });
        await jobs.insert(
          newJob({ kind: 'batch', subject: id, owner, payload: {}, tries: BATCH_TRIES }, { ids, clock }),
        );
        return made;
      });
      bell.ring('due');
      return record;
    },

    find: async (owner, id) => (await store.batches.find(owner, id)) ?? noBatch(id),

    async list(owner, { after, createdFrom, ...wish }) {
      if (after !== undefined && !ID.test(after)) noCursor(after);
      const oldest = clock.now() - BATCH_LIST_AGE_MS;
      return await store.batches.list(owner, { ...wish, after, createdFrom: Math.max(oldest, createdFrom ?? oldest) });
    },

    async cancel(owner, id) {
      const record = await store.transaction(async ({ batches, jobs }) => {
        const batch = await batches.lock(id);
        if (!batch || !isAt(batch, owner)) return noBatch(id);
        if (batch.endedAt !== undefined) {
          throw new ServiceError('conflict', `Cannot cancel a batch with status '${batch.status}'.`);
        }
        if (batch.status === 'cancelling') return batch;
        const at = clock.now();
        const job = await jobs.findBySubject('batch', id);
        if (job) await jobs.cancel(job.id, at);
        return await batches.change(id, { status: 'cancelling', cancellingAt: at });
      });
      bell.ring('cancelled');
      return record;
    },
  };
}

const isAt = (place: Place, { region, workspace }: Place): boolean =>
  place.region === region && place.workspace === workspace;

const shown = (id: string): string => id.slice(0, 80).toWellFormed();

function noBatch(id: string): never {
  throw new ServiceError('not-found', `No batch found with id '${shown(id)}'.`);
}

function noCursor(after: string): never {
  throw new ServiceError('invalid-request', `after must be the id of a batch, got '${shown(after)}'.`, {
    param: 'after',
  });
}
