import { setImmediate as turnOfOthers } from 'node:timers/promises';
import type { BlobStore } from '../../blobs/blob-store.ts';
import {
  BATCH_HOLD_MS,
  FILE_COMPARE_MS,
  FILE_LEASE_MS,
  FILE_LOOK_MS,
  FILE_ORPHAN_MS,
  FILE_SWEEP_PAGE_MAX,
} from '../../core/limits.ts';
import type { Log } from '../../core/telemetry.ts';
import type { Clock } from '../../lib/clock.ts';
import { every as systemEvery, type Every } from '../../lib/every.ts';
import type { Expired } from '../../store/files.ts';
import type { Store } from '../../store/store.ts';
import { FILE_BLOB_PREFIX, finishDelete, RESULTS_BLOB_PREFIX, TEXT_BLOB_PREFIX, withTotal } from './remove.ts';

const OURS = [FILE_BLOB_PREFIX, RESULTS_BLOB_PREFIX, TEXT_BLOB_PREFIX];

export interface SweepNeeds {
  readonly store: Store;
  readonly blobs: BlobStore;
  readonly clock: Clock;
}

export interface FileSweeper {
  /** Removes nothing more from here on; resolves when what is being removed is. */
  close(): Promise<void>;
}

/** Ends what killed processes began: now and from time to time, beside the requests. One process of a service does it. */
export function startFileSweep({
  log,
  every = systemEvery,
  ...needs
}: SweepNeeds & { readonly log: Pick<Log, 'info' | 'warn'>; readonly every?: Every }): FileSweeper {
  let isClosed = false;
  let running: Promise<void> = Promise.resolve();
  const then = (work: () => Promise<Readonly<Record<string, number>>>): void => {
    running = running
      .then(async () => {
        if (isClosed) return;
        const swept = await work();
        if (Object.values(swept).some((count) => count > 0)) log.info('swept what was left of files', swept);
      })
      .catch((error: unknown) => log.warn('what is left of files could not be swept', { error: String(error) }));
  };
  const look = (): void => then(async () => ({ files: await sweepExpired(needs) }));
  const compare = (): void => then(() => sweepOrphans(needs, needs.clock.now() - FILE_ORPHAN_MS));
  const stops = [every(FILE_LOOK_MS, look), every(FILE_COMPARE_MS, compare)];
  look();
  compare();
  return {
    async close() {
      isClosed = true;
      for (const stop of stops) stop();
      await running;
    },
  };
}

/**
 * Reservations that nobody renews give their room back, what came in for them goes, and so does what was half deleted.
 * What is held for a batch is held until that has ended, however long nobody worked on it.
 * @returns how many.
 */
export async function sweepExpired({ store, blobs, clock }: SweepNeeds): Promise<number> {
  let swept = 0;
  for (;;) {
    const before = clock.now();
    const expired = await store.files.listExpired({ before, limit: FILE_SWEEP_PAGE_MAX });
    if (expired.length === 0) return swept;
    let done = 0;
    for (const each of expired) {
      if (each.isReserved && !(await takeBack({ store, clock }, each, before))) continue;
      // First, so that an upload which goes on all the same cannot become a blob behind our back.
      await blobs.abandon(each.blob);
      await finishDelete({ store, blobs }, each.blob);
      done += 1;
      await turnOfOthers();
    }
    swept += done;
    // Each of them was renewed or kept just now: whoever goes on at once would find the same ones.
    if (done === 0) return swept;
  }
}

const takeBack = (
  { store, clock }: Pick<SweepNeeds, 'store' | 'clock'>,
  { blob, heldFor, ...place }: Expired,
  expiredAt: number,
): Promise<boolean> =>
  withTotal(store, place, async ({ batches, files, fileTotals }) => {
    const at = clock.now();
    if (heldFor !== undefined && (await batches.isOpen(heldFor))) {
      await files.renew([blob], at + BATCH_HOLD_MS);
      return false;
    }
    const reservation = await files.giveUp(blob, { leaseUntil: at + FILE_LEASE_MS, at, expiredAt });
    if (reservation) await fileTotals.add(place, { files: -1, bytes: -reservation.bytes });
    return reservation !== undefined;
  });

/**
 * The last resort, for what no record leads to: blobs and parts of blobs, if they are older than `before` (UTC ms). A
 * record is there before its blob and goes after it, so none of them is on its way.
 */
export async function sweepOrphans(
  { store, blobs }: Pick<SweepNeeds, 'store' | 'blobs'>,
  before: number,
): Promise<{ readonly orphans: number; readonly parts: number }> {
  let orphans = 0;
  let page: string[] = [];
  const compare = async (): Promise<void> => {
    const known = new Set([...(await store.files.known(page)), ...(await store.texts.known(page))]);
    for (const name of page) {
      if (known.has(name)) continue;
      await blobs.delete(name);
      orphans += 1;
    }
    page = [];
  };
  for await (const { name, changedAt } of blobs.list()) {
    if (changedAt >= before || !OURS.some((prefix) => name.startsWith(prefix))) continue;
    page.push(name);
    if (page.length === FILE_SWEEP_PAGE_MAX) await compare();
  }
  await compare();
  return { orphans, parts: await blobs.sweep(before) };
}
