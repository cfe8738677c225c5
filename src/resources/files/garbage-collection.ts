import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { BlobStore } from '../../blobs/blob-store.ts';
import {
  BATCH_RESERVATION_CHECK_MS,
  FILE_LEASE_MS,
  FILE_CLEANUP_INTERVAL_MS,
  FILE_CLEANUP_PAGE_MAX,
} from '../limits.ts';
import { FILE_RECONCILE_INTERVAL_MS, FILE_ORPHAN_AGE_MS, UPLOAD_GRACE_MS } from './limits.ts';
import type { Log } from '../../core/telemetry.ts';
import type { Clock } from '../../lib/clock.ts';
import { startInterval } from '../../lib/start-interval.ts';
import type { ExpiredFile } from '../../store/files.ts';
import type { Store } from '../../store/store.ts';
import {
  AUDIO_BLOB_PREFIX,
  FILE_BLOB_PREFIX,
  deleteBlobAndRows,
  BATCH_OUTPUT_BLOB_PREFIX,
  TEXT_BLOB_PREFIX,
  withFileTotalLock,
} from './remove.ts';

const FILE_BLOB_PREFIXES = [AUDIO_BLOB_PREFIX, FILE_BLOB_PREFIX, BATCH_OUTPUT_BLOB_PREFIX, TEXT_BLOB_PREFIX];

export interface FileGarbageDeps {
  readonly store: Store;
  readonly blobs: BlobStore;
  readonly clock: Clock;
}

export interface FileGarbageCollector {
  /** Stops removing; resolves when running removals have finished. */
  close(): Promise<void>;
}

/** Removes what killed processes left behind: at start and periodically, in one process of a service. */
export function startFileGarbageCollection({
  log,
  ...deps
}: FileGarbageDeps & { readonly log: Pick<Log, 'info' | 'warn'> }): FileGarbageCollector {
  let isClosed = false;
  let running: Promise<void> = Promise.resolve();
  const enqueue = (work: () => Promise<Readonly<Record<string, number>>>): void => {
    running = running
      .then(async () => {
        if (isClosed) return;
        const removed = await work();
        if (Object.values(removed).some((count) => count > 0)) log.info('file garbage collected', removed);
      })
      .catch((error: unknown) => log.warn('file garbage collection failed', { error: String(error) }));
  };
  const removeExpired = (): void =>
    enqueue(async () => ({
      files: await removeExpiredReservations(deps),
      uploads: await removeExpiredUploads(deps),
    }));
  const removeOrphans = (): void => enqueue(() => removeOrphanedBlobs(deps, deps.clock.now() - FILE_ORPHAN_AGE_MS));
  const stops = [
    startInterval(FILE_CLEANUP_INTERVAL_MS, removeExpired),
    startInterval(FILE_RECONCILE_INTERVAL_MS, removeOrphans),
  ];
  removeExpired();
  removeOrphans();
  return {
    async close() {
      isClosed = true;
      for (const stop of stops) stop();
      await running;
    },
  };
}

/**
 * Releases expired reservations, deletes the bytes received for them, and completes interrupted deletions. Reservations
 * for a batch last until the batch has ended, even if nobody works on it.
 * @returns the number of removed entries.
 */
export async function removeExpiredReservations({ store, blobs, clock }: FileGarbageDeps): Promise<number> {
  let removed = 0;
  for (;;) {
    const before = clock.now();
    const expired = await store.files.listExpired({ before, limit: FILE_CLEANUP_PAGE_MAX });
    if (expired.length === 0) return removed;
    let done = 0;
    for (const entry of expired) {
      if (entry.isReserved && !(await reclaimReservation({ store, clock }, entry, before))) continue;
      // Abandon first, so that an upload that still runs cannot become a blob afterwards.
      await blobs.abortUpload(entry.blob);
      await deleteBlobAndRows({ store, blobs }, entry.blob);
      done += 1;
      await yieldToEventLoop();
    }
    removed += done;
    // All entries were renewed or committed meanwhile: continuing at once would find the same entries again.
    if (done === 0) return removed;
  }
}

/**
 * Removes the records of uploads in parts some time after they have expired. The bytes of their parts are reservations
 * that expire with the upload. @returns their number.
 */
export async function removeExpiredUploads({
  store,
  clock,
}: Pick<FileGarbageDeps, 'store' | 'clock'>): Promise<number> {
  let removed = 0;
  for (;;) {
    const query = { before: clock.now() - UPLOAD_GRACE_MS, limit: FILE_CLEANUP_PAGE_MAX };
    const count = await store.transaction(({ uploads }) => uploads.removeExpired(query), { usesReserve: true });
    removed += count;
    if (count < FILE_CLEANUP_PAGE_MAX) return removed;
    await yieldToEventLoop();
  }
}

const reclaimReservation = (
  { store, clock }: Pick<FileGarbageDeps, 'store' | 'clock'>,
  { blob, batchId, ...scope }: ExpiredFile,
  expiredAt: number,
): Promise<boolean> =>
  withFileTotalLock(
    store,
    scope,
    async ({ batches, files, fileTotals }) => {
      const at = clock.now();
      if (batchId !== undefined && (await batches.isUnfinished(batchId))) {
        await files.renewReservations([blob], at + BATCH_RESERVATION_CHECK_MS);
        return false;
      }
      const reservation = await files.retireReservation(blob, { leaseUntil: at + FILE_LEASE_MS, at, expiredAt });
      if (reservation) await fileTotals.addUsage(scope, { files: -1, bytes: -reservation.bytes });
      return reservation !== undefined;
    },
    { usesReserve: true },
  );

/**
 * Deletes blobs and partial blobs that no record refers to, if they are older than `before` (UTC ms). A record exists
 * before its blob and longer than it, so that a blob without a record is garbage.
 */
export async function removeOrphanedBlobs(
  { store, blobs }: Pick<FileGarbageDeps, 'store' | 'blobs'>,
  before: number,
): Promise<{ readonly orphans: number; readonly parts: number }> {
  let orphans = 0;
  let page: string[] = [];
  const removeUnknown = async (): Promise<void> => {
    const known = new Set([
      ...(await store.files.filterReferenced(page)),
      ...(await store.texts.filterReferenced(page)),
      ...(await store.transcriptions.filterReferenced(page)),
    ]);
    for (const name of page) {
      if (known.has(name)) continue;
      await blobs.delete(name);
      orphans += 1;
    }
    page = [];
  };
  for await (const { name, changedAt } of blobs.list()) {
    if (changedAt >= before || !FILE_BLOB_PREFIXES.some((prefix) => name.startsWith(prefix))) continue;
    page.push(name);
    if (page.length === FILE_CLEANUP_PAGE_MAX) await removeUnknown();
  }
  await removeUnknown();
  return { orphans, parts: await blobs.removeStaleUploads(before) };
}
