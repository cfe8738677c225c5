import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { BlobStore } from '../../blobs/blob-store.ts';
import type { Owner } from '../../core/context.ts';
import { ServiceError } from '../../core/error.ts';
import { type IdGenerator, systemIdGenerator } from '../../core/id.ts';
import { FILE_LEASE_MS } from '../limits.ts';
import { EXTRACT_ATTEMPTS_MAX, FILE_LEASE_RENEW_MS } from './limits.ts';
import type { Log } from '../../core/telemetry.ts';
import type { Clock } from '../../lib/clock.ts';
import { startInterval as startSystemInterval, type StartInterval } from '../../lib/start-interval.ts';
import type { Store } from '../../store/store.ts';
import { EXTRACT_PURPOSE, type FileLimits, type Files, type ReceivedFile } from './file.ts';
import { FILE_BLOB_PREFIX, deleteBlobAndRows, withFileTotalLock } from './remove.ts';
import { createJob } from '../jobs/create-job.ts';
import type { JobNotifier } from '../jobs/job-notifier.ts';
import { reserveBytes, createReservationLostError, type ReservationTimings } from './reserve-bytes.ts';
import {
  checkCount,
  checkFileSize,
  cleanDescription,
  cleanName,
  grantBytes,
  getIdPrefix,
  parseSortKey,
} from './rules.ts';

export interface FilesDeps {
  readonly store: Store;
  readonly blobs: BlobStore;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
  readonly getLimits: (workspace: string) => FileLimits;
  /** Notified of each file whose text must be extracted. */
  readonly notifier?: Pick<JobNotifier, 'notify'>;
  readonly ids?: IdGenerator;
  readonly startInterval?: StartInterval;
  readonly reservationTimings?: ReservationTimings;
}

export function createFiles(deps: FilesDeps): Files {
  const {
    store,
    blobs,
    clock,
    log,
    getLimits,
    notifier,
    ids = systemIdGenerator,
    startInterval = startSystemInterval,
    reservationTimings: timings,
  } = deps;
  const leaseUntil = (): number => clock.now() + FILE_LEASE_MS;

  // Uploads of this process that are not committed yet: their leases are renewed, so that nobody else releases them.
  const uncommittedBlobs = new Set<string>();
  const completedBlobs = new Set<string>();
  const stop = startInterval(FILE_LEASE_RENEW_MS, () => {
    if (uncommittedBlobs.size === 0) return;
    store.files.renewReservations([...uncommittedBlobs], leaseUntil()).catch((error: unknown) => {
      log.warn('renewal of upload reservations failed', { error: String(error) });
    });
  });

  // Work that needs the store until it completes; `close` waits for it.
  const pendingWork = new Set<Promise<unknown>>();
  const track = <T>(work: Promise<T>): Promise<T> => {
    pendingWork.add(work);
    const forget = (): void => void pendingWork.delete(work);
    work.then(forget, forget);
    return work;
  };

  /** @returns the bytes that are reserved. */
  const reserve = (owner: Owner, blob: string, limits: FileLimits): Promise<number> =>
    withFileTotalLock(store, owner, async ({ files, fileTotals }, total) => {
      checkCount(total, limits);
      const bytes = grantBytes({ neededBytes: 0, sizeBytes: 0 }, total, limits) ?? 0;
      const { region, workspace, keyId } = owner;
      await files.reserve({ blob, region, workspace, keyId, bytes, leaseUntil: leaseUntil(), at: clock.now() });
      await fileTotals.addUsage(owner, { files: 1, bytes });
      return bytes;
    });

  const resize = (owner: Owner, blob: string, bytes: number): Promise<void> =>
    withFileTotalLock(store, owner, async ({ files, fileTotals }) => {
      if (!(await files.growReservation(blob, { bytes, leaseUntil: leaseUntil() }))) throw createReservationLostError();
      await fileTotals.addUsage(owner, { files: 0, bytes });
    });

  const release = async (owner: Owner, blob: string): Promise<void> => {
    if (!uncommittedBlobs.delete(blob)) return;
    completedBlobs.delete(blob);
    try {
      const lease = { leaseUntil: leaseUntil(), at: clock.now() };
      await withFileTotalLock(store, owner, async ({ files, fileTotals }) => {
        const reservation = await files.retireReservation(blob, lease);
        if (reservation) await fileTotals.addUsage(owner, { files: -1, bytes: -reservation.bytes });
        // It may have been committed although this process got no reply. After the lease expired, there is no row.
        else if ((await files.filterReferenced([blob])).has(blob)) throw new Error(`${blob} is not a reservation`);
      });
      await deleteBlobAndRows({ store, blobs }, blob);
    } catch (error) {
      log.warn('upload cleanup failed; garbage collection repeats it', { error: String(error) });
    }
  };

  const receive = async (
    owner: Owner,
    source: AsyncIterable<Uint8Array>,
    signal: AbortSignal | undefined,
  ): Promise<ReceivedFile> => {
    const limits = getLimits(owner.workspace);
    const blob = ids.createSortableId(FILE_BLOB_PREFIX);
    let reserved = await reserve(owner, blob, limits);
    uncommittedBlobs.add(blob);
    try {
      const checkSize = async (sizeBytes: number): Promise<void> => {
        checkFileSize(sizeBytes, limits);
        if (sizeBytes <= reserved) return;
        reserved += await reserveBytes({
          store,
          clock,
          owner,
          blob,
          limits,
          signal,
          completed: completedBlobs,
          timings,
          neededBytes: sizeBytes - reserved,
          sizeBytes,
        });
      };
      const stored = await blobs.put(blob, source, { checkSize, signal });
      // Release the unused part of the reservation, which other files of the same upload may need.
      if (reserved > stored.sizeBytes) await resize(owner, blob, stored.sizeBytes - reserved);
      completedBlobs.add(blob);
      return { blob, ...stored };
    } catch (thrown) {
      // The client may see this error only inside a successful response, so the operator must learn of it here.
      if (thrown instanceof ServiceError && thrown.kind === 'overloaded' && thrown.cause instanceof Error) {
        log.warn('file storage is full', { error: String(thrown.cause) });
      }
      await release(owner, blob);
      throw thrown;
    }
  };

  const findAnywhere = async (id: string) => (await store.files.findInAnyTenant(id)) ?? throwFileNotFound();

  return {
    findAnywhere,

    receive: (owner, source, { signal } = {}) => track(receive(owner, source, signal)),

    async commit(owner, uploads) {
      const drafts = uploads.map(({ received, draft: { name, description, purpose } }) => ({
        received,
        metadata: { name: cleanName(name), description: cleanDescription(description), purpose },
      }));
      if (drafts.length === 0) return [];
      const records = await withFileTotalLock(store, owner, async ({ files, fileTotals, jobs, texts }) => {
        const committed = [];
        for (const { received, metadata } of drafts) {
          const { blob, sizeBytes, md5 } = received;
          const id = ids.createSortableId(getIdPrefix(metadata.purpose));
          const sortKey = parseSortKey(id) ?? id;
          const number = await fileTotals.nextNumber();
          const newFile = { ...metadata, id, sortKey, number, sizeBytes, md5, createdAt: clock.now() };
          const { record, reservedBytes } =
            (await files.activate(blob, newFile)) ?? throwError(createReservationLostError());
          await fileTotals.addUsage(owner, { files: 0, bytes: sizeBytes - reservedBytes });
          await fileTotals.addToActiveCount(owner, metadata.purpose, 1);
          if (metadata.purpose === EXTRACT_PURPOSE) {
            await texts.insert(blob, record.createdAt);
            const request = {
              kind: 'extract',
              subject: id,
              owner,
              payload: {},
              attemptsMax: EXTRACT_ATTEMPTS_MAX,
            } as const;
            await jobs.insert(createJob(request, { ids, clock }));
          }
          committed.push(record);
        }
        return committed;
      });
      for (const { received } of drafts) {
        uncommittedBlobs.delete(received.blob);
        completedBlobs.delete(received.blob);
      }
      if (records.some(({ purpose }) => purpose === EXTRACT_PURPOSE)) notifier?.notify('due');
      return records;
    },

    async discard(owner, files) {
      for (const { blob } of files) await track(release(owner, blob));
    },

    find: async (owner, id) => (await store.files.find(owner, id)) ?? throwFileNotFound(),

    async list(owner, { after, ...query }) {
      const key = after === undefined ? undefined : (parseSortKey(after) ?? throwInvalidCursor(after));
      return await store.files.list(owner, { ...query, after: key });
    },

    count: (owner, purpose) => store.fileTotals.countActive(owner, purpose),

    async delete(owner, id) {
      const lease = { leaseUntil: leaseUntil(), at: clock.now() };
      const { blob } = await withFileTotalLock(store, owner, async ({ batches, files, fileTotals, jobs }) => {
        const retired = (await files.retire(owner, id, lease)) ?? throwFileNotFound();
        // Batches are created under the same lock, so that none can start to read the file meanwhile.
        if (await batches.isInputInUse(id)) throw fileInUseError();
        await fileTotals.addUsage(owner, { files: -1, bytes: -retired.bytes });
        if (retired.purpose !== undefined) await fileTotals.addToActiveCount(owner, retired.purpose, -1);
        if (retired.purpose === EXTRACT_PURPOSE) await jobs.remove('extract', id);
        return retired;
      });
      await deleteBlobAndRows({ store, blobs }, blob).catch((error: unknown) => {
        log.warn('file deletion is incomplete; garbage collection repeats it', { error: String(error) });
      });
    },

    read: ({ blob }, range) => blobs.read(blob, range),
    async close() {
      stop();
      do {
        await Promise.allSettled(pendingWork);
        // Lets a caller whose upload failed start to discard the files that it received before.
        await yieldToEventLoop();
      } while (pendingWork.size > 0);
    },
  };
}

function throwFileNotFound(): never {
  throw new ServiceError('file-not-found', 'File not found.');
}

function throwInvalidCursor(after: string): never {
  const shown = after.slice(0, 80).toWellFormed();
  throw new ServiceError('invalid-request', `after must be the id of a file, got '${shown}'.`, { param: 'after' });
}

const fileInUseError = (): ServiceError =>
  new ServiceError(
    'conflict',
    'The file is the input of a batch that has not ended. Cancel the batch or wait until it ends.',
  );

function throwError(error: ServiceError): never {
  throw error;
}
