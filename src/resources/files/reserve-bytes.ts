import { setTimeout as sleep } from 'node:timers/promises';
import type { Owner } from '../../core/context.ts';
import { ServiceError } from '../../core/error.ts';
import { FILE_LEASE_MS } from '../limits.ts';
import { FILE_QUOTA_POLL_MS, FILE_QUOTA_RETRY_MS, FILE_QUOTA_WAIT_LAST_MS, FILE_QUOTA_WAIT_MS } from './limits.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Store } from '../../store/store.ts';
import type { FileLimits } from './file.ts';
import { withFileTotalLock } from './remove.ts';
import { type UploadGrowth, grantBytes, createStorageQuotaError } from './rules.ts';

/** Waiting times in ms, explained in `core/limits.ts`. */
export interface ReservationTimings {
  readonly pollMs: number;
  readonly retryMs: number;
  readonly newestTimeoutMs: number;
  readonly timeoutMs: number;
}

const DEFAULT_TIMINGS: ReservationTimings = {
  pollMs: FILE_QUOTA_POLL_MS,
  retryMs: FILE_QUOTA_RETRY_MS,
  newestTimeoutMs: FILE_QUOTA_WAIT_LAST_MS,
  timeoutMs: FILE_QUOTA_WAIT_MS,
};

export interface ReserveBytesRequest extends UploadGrowth {
  readonly store: Store;
  readonly clock: Clock;
  readonly owner: Owner;
  readonly blob: string;
  readonly limits: FileLimits;
  readonly signal?: AbortSignal | undefined;
  /** Blob names of completely received uploads: they need no more bytes, so that waiting for them is pointless. */
  readonly completed: ReadonlySet<string>;
  readonly timings?: ReservationTimings | undefined;
  /** Runs a transaction when no other upload of the owner's workspace runs one. */
  readonly inTurn: <T>(owner: Owner, work: () => Promise<T>) => Promise<T>;
}

/**
 * Reserves more bytes for a file that is being received. If other uploads have reserved the bytes it needs, it waits:
 * one of them may need less than it reserved, or fail. The newest upload gives up first, so that the oldest uploads
 * complete when not all of them fit.
 * @returns the number of reserved bytes.
 * @throws ServiceError `storage-quota`; `overloaded` if the file's reservation was lost; the signal's reason.
 */
export async function reserveBytes(request: ReserveBytesRequest): Promise<number> {
  const { store, owner, limits, signal, timings = DEFAULT_TIMINGS } = request;
  const startedAt = performance.now();
  for (;;) {
    const bytes = await request.inTurn(owner, () => tryReserve(request, performance.now() - startedAt));
    if (bytes !== undefined) return bytes;
    const triedAt = performance.now();
    // A poll only reads; an attempt is a transaction that blocks the workspace's other uploads.
    do {
      await sleep(timings.pollMs);
      signal?.throwIfAborted();
      if (performance.now() - triedAt > timings.retryMs) break;
    } while (grantBytes(request, await store.fileTotals.getUsage(owner), limits) === undefined);
  }
}

/** @returns undefined if it is worth waiting. */
const tryReserve = (request: ReserveBytesRequest, waitedMs: number): Promise<number | undefined> =>
  withFileTotalLock(request.store, request.owner, async ({ files, fileTotals }, total) => {
    const { blob, limits, owner, clock, sizeBytes, completed, timings = DEFAULT_TIMINGS } = request;
    const bytes = grantBytes(request, total, limits);
    if (bytes !== undefined) {
      if (!(await files.growReservation(blob, { bytes, leaseUntil: clock.now() + FILE_LEASE_MS })))
        throw createReservationLostError();
      await fileTotals.addUsage(owner, { files: 0, bytes });
      return bytes;
    }
    const incoming = (await files.listReservations(owner)).filter((reservation) => !completed.has(reservation.blob));
    const committedBytes = incoming.reduce((left, reservation) => left - reservation.bytes, total.bytes);
    const waitMsMax = incoming.at(-1)?.blob === blob ? timings.newestTimeoutMs : timings.timeoutMs;
    // Committed files alone exceed the quota, no other upload is active, or the waiting time is over.
    if (committedBytes + sizeBytes > limits.totalBytesMax || incoming.length < 2 || waitedMs > waitMsMax) {
      const reservedBytes = incoming.find((reservation) => reservation.blob === blob)?.bytes ?? 0;
      throw createStorageQuotaError({ ...total, bytes: total.bytes - reservedBytes }, limits);
    }
    return undefined;
  });

/** The lease of the reservation expired because this process was suspended longer than the lease. */
export const createReservationLostError = (): ServiceError =>
  new ServiceError(
    'overloaded',
    'The upload was interrupted for too long and its reserved storage was released. Send the file again.',
  );
