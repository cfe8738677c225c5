import { setTimeout as sleep } from 'node:timers/promises';
import type { Owner } from '../../core/context.ts';
import { ServiceError } from '../../core/error.ts';
import {
  FILE_LEASE_MS,
  FILE_ROOM_LOOK_MS,
  FILE_ROOM_TRY_MS,
  FILE_ROOM_WAIT_LAST_MS,
  FILE_ROOM_WAIT_MS,
} from '../../core/limits.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Store } from '../../store/store.ts';
import type { FileLimits } from './file.ts';
import { withTotal } from './remove.ts';
import { type Growth, grantBytes, noRoom } from './rules.ts';

/** In ms: `core/limits.ts` says what each is. */
export interface RoomWaits {
  readonly lookMs: number;
  readonly tryMs: number;
  readonly lastMs: number;
  readonly longestMs: number;
}

const WAITS: RoomWaits = {
  lookMs: FILE_ROOM_LOOK_MS,
  tryMs: FILE_ROOM_TRY_MS,
  lastMs: FILE_ROOM_WAIT_LAST_MS,
  longestMs: FILE_ROOM_WAIT_MS,
};

export interface RoomWish extends Growth {
  readonly store: Store;
  readonly clock: Clock;
  readonly owner: Owner;
  readonly blob: string;
  readonly limits: FileLimits;
  readonly signal?: AbortSignal | undefined;
  /** Files that have come in whole: they need what they have, and nobody waits for it. */
  readonly whole: ReadonlySet<string>;
  readonly waits?: RoomWaits | undefined;
}

/**
 * Reserves more bytes for a file that is coming in. Where others have reserved what it needs, it waits: one of them may
 * need less than it has, or be refused. The one that came last is refused first, so of many that cannot all be held those
 * that came first are.
 * @returns how many bytes.
 * @throws ServiceError `storage-quota`; `overloaded` where the file is not held any more; the signal's reason.
 */
export async function makeRoom(wish: RoomWish): Promise<number> {
  const { store, owner, limits, signal, waits = WAITS } = wish;
  const begunAt = performance.now();
  for (;;) {
    const bytes = await tryRoom(wish, performance.now() - begunAt);
    if (bytes !== undefined) return bytes;
    const triedAt = performance.now();
    // A look costs nobody anything; a try is a transaction that all others wait for.
    do {
      await sleep(waits.lookMs);
      signal?.throwIfAborted();
      if (performance.now() - triedAt > waits.tryMs) break;
    } while (grantBytes(wish, await store.fileTotals.look(owner), limits) === undefined);
  }
}

/** Undefined: it is worth another look. */
const tryRoom = (wish: RoomWish, waitedMs: number): Promise<number | undefined> =>
  withTotal(wish.store, wish.owner, async ({ files, fileTotals }, total) => {
    const { blob, limits, owner, clock, sizeBytes, whole, waits = WAITS } = wish;
    const bytes = grantBytes(wish, total, limits);
    if (bytes !== undefined) {
      if (!(await files.grow(blob, { bytes, leaseUntil: clock.now() + FILE_LEASE_MS }))) throw notHeld();
      await fileTotals.add(owner, { files: 0, bytes });
      return bytes;
    }
    const coming = (await files.reservations(owner)).filter((reservation) => !whole.has(reservation.blob));
    const keptBytes = coming.reduce((left, reservation) => left - reservation.bytes, total.bytes);
    const patienceMs = coming.at(-1)?.blob === blob ? waits.lastMs : waits.longestMs;
    // What it needs is taken for good, it is alone, or it has waited long enough.
    if (keptBytes + sizeBytes > limits.totalBytesMax || coming.length < 2 || waitedMs > patienceMs) {
      const ownBytes = coming.find((reservation) => reservation.blob === blob)?.bytes ?? 0;
      throw noRoom({ ...total, bytes: total.bytes - ownBytes }, limits);
    }
    return undefined;
  });

/** Its lease ended: this process stood still for longer than that. */
export const notHeld = (): ServiceError =>
  new ServiceError('overloaded', 'The file could not be kept: it took too long. Please send it again.');
