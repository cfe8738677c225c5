import type { BlobStore } from '../../blobs/blob-store.ts';
import type { Owner } from '../../core/context.ts';
import { ServiceError } from '../../core/error.ts';
import { type IdGenerator, systemIdGenerator } from '../../core/id.ts';
import type { Log } from '../../core/telemetry.ts';
import type { Clock } from '../../lib/clock.ts';
import { createSharedSemaphore } from '../../lib/shared-semaphore.ts';
import { startInterval as startSystemInterval, type StartInterval } from '../../lib/start-interval.ts';
import type { Store } from '../../store/store.ts';
import { FILE_LEASE_MS } from '../limits.ts';
import type { FileLimits, ReceivedFile } from './file.ts';
import { FILE_LEASE_RENEW_MS } from './limits.ts';
import { FILE_BLOB_PREFIX, deleteBlobAndRows, withFileTotalLock } from './remove.ts';
import { createReservationLostError, reserveBytes, type ReservationTimings } from './reserve-bytes.ts';
import { checkCount, checkFileSize, grantBytes } from './rules.ts';

export interface UploadsDeps {
  readonly store: Store;
  readonly blobs: BlobStore;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
  readonly getLimits: (workspace: string) => FileLimits;
  readonly ids?: IdGenerator;
  readonly startInterval?: StartInterval;
  readonly reservationTimings?: ReservationTimings;
}

/** Files that this process receives and that are not committed yet. */
export interface Uploads {
  /** Stores the bytes of a file within the limits of the tenant. @throws ServiceError; then nothing remains. */
  receive(owner: Owner, source: AsyncIterable<Uint8Array>, signal: AbortSignal | undefined): Promise<ReceivedFile>;
  /**
   * Joins received blobs to a new one, which reserves nothing: its bytes are those of its parts, whose reservations end in
   * the transaction that commits it. @throws ServiceError; then nothing of the new blob remains.
   */
  join(owner: Owner, parts: readonly string[], signal: AbortSignal | undefined): Promise<ReceivedFile>;
  /** Deletes a received file that is not committed. */
  release(owner: Owner, blob: string): Promise<void>;
  /** Keeps a received file, which is committed now. */
  keep(blob: string): void;
  /** Stops the renewal of the reservations. */
  stop(): void;
}

export function createUploads(deps: UploadsDeps): Uploads {
  const { store, blobs, clock, log, getLimits } = deps;
  const { ids = systemIdGenerator, startInterval = startSystemInterval, reservationTimings: timings } = deps;
  const leaseUntil = (): number => clock.now() + FILE_LEASE_MS;

  // A workspace has one transaction of its uploads at a time: many of them would make the transactions of other
  // workspaces wait.
  const turns = createSharedSemaphore({ permits: Infinity, permitsPerHolder: 1 });
  const inTurn = async <T>({ workspace }: Owner, work: () => Promise<T>): Promise<T> => {
    const end = await turns.acquire(workspace);
    try {
      return await work();
    } finally {
      end();
    }
  };

  // Uploads of this process that are not committed yet: their leases are renewed, so that nobody else releases them.
  const uncommittedBlobs = new Set<string>();
  const completedBlobs = new Set<string>();
  const stop = startInterval(FILE_LEASE_RENEW_MS, () => {
    if (uncommittedBlobs.size === 0) return;
    store.files.renewReservations([...uncommittedBlobs], leaseUntil()).catch((error: unknown) => {
      log.warn('renewal of upload reservations failed', { error: String(error) });
    });
  });

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
      await withFileTotalLock(
        store,
        owner,
        async ({ files, fileTotals }) => {
          const reservation = await files.retireReservation(blob, lease);
          if (reservation) await fileTotals.addUsage(owner, { files: -1, bytes: -reservation.bytes });
          // It may have been committed although this process got no reply. After the lease expired, there is no row.
          else if ((await files.filterReferenced([blob])).has(blob)) throw new Error(`${blob} is not a reservation`);
        },
        { usesReserve: true },
      );
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
    let reserved = await inTurn(owner, () => reserve(owner, blob, limits));
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
          inTurn,
          timings,
          neededBytes: sizeBytes - reserved,
          sizeBytes,
        });
      };
      const stored = await blobs.put(blob, source, { checkSize, signal });
      // Release the unused part of the reservation, which other files of the same upload may need.
      const unused = reserved - stored.sizeBytes;
      if (unused > 0) await inTurn(owner, () => resize(owner, blob, -unused));
      completedBlobs.add(blob);
      return { blob, ...stored };
    } catch (thrown) {
      // The client may see this error only inside a successful response, so the operator must learn of it here.
      if (thrown instanceof ServiceError && thrown.kind === 'overloaded' && thrown.cause instanceof Error) {
        log.warn('file storage is full', { error: String(thrown.cause) });
      }
      await inTurn(owner, () => release(owner, blob));
      throw thrown;
    }
  };

  const join = async (
    owner: Owner,
    parts: readonly string[],
    signal: AbortSignal | undefined,
  ): Promise<ReceivedFile> => {
    const blob = ids.createSortableId(FILE_BLOB_PREFIX);
    const { region, workspace, keyId } = owner;
    await withFileTotalLock(store, owner, async ({ files, fileTotals }) => {
      await files.reserve({ blob, region, workspace, keyId, bytes: 0, leaseUntil: leaseUntil(), at: clock.now() });
      await fileTotals.addUsage(owner, { files: 1, bytes: 0 });
      await files.renewReservations(parts, leaseUntil());
    });
    uncommittedBlobs.add(blob);
    // The parts may expire while they are read.
    for (const part of parts) uncommittedBlobs.add(part);
    try {
      const stored = await blobs.put(blob, readAll(blobs, parts), { signal });
      completedBlobs.add(blob);
      return { blob, ...stored };
    } catch (thrown) {
      await release(owner, blob);
      throw thrown;
    } finally {
      for (const part of parts) uncommittedBlobs.delete(part);
    }
  };

  return {
    receive,
    join,
    release,
    keep(blob) {
      uncommittedBlobs.delete(blob);
      completedBlobs.delete(blob);
    },
    stop,
  };
}

/** Reads blobs one after the other. */
async function* readAll(blobs: BlobStore, names: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const name of names) yield* (await blobs.read(name)) as AsyncIterable<Uint8Array>;
}
