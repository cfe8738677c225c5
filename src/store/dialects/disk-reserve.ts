import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import { existsSync, rmSync, statSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { createDiskFullError, isDiskFull } from '../../core/storage-error.ts';
import { type Clock, systemClock } from '../../lib/clock.ts';
import { nameFileInError } from '../../lib/name-file-in-error.ts';
import { readDiskSpace } from '../../lib/read-disk-space.ts';
import { DISK_CHECK_INTERVAL_MS, DISK_RESERVE_BYTES_MAX, DISK_RESERVE_SHARE } from '../limits.ts';

/**
 * Space beside a database that a full disk keeps for removals, so that its users can always free space: removing a row
 * writes to the database first. While less than that is kept, nothing else may grow.
 */
export interface DiskReserve {
  /** Runs work that opens the database: on a full disk with the space, otherwise after reserving it. */
  open<T>(work: () => Promise<T>): Promise<T>;
  /**
   * Waits until it is known whether the disk has room, and reserves the space again. Does nothing within `use`.
   * @throws ServiceError `overloaded` while the disk has no room for it.
   */
  requireSpace(): Promise<void>;
  /**
   * Runs work that may use the space: if the disk is full, it is released, the work runs once more, and what is then free
   * is reserved before something else takes it.
   */
  use<T>(work: () => Promise<T>): Promise<T>;
}

interface DiskReserveOptions {
  /** Folder of the reserve's disk. */
  readonly folder: string;
  /** File that takes the space. */
  readonly file: string;
  readonly clock?: Clock;
  readonly readSpace?: typeof readDiskSpace;
}

export function createDiskReserve({
  folder,
  file,
  clock = systemClock,
  readSpace = readDiskSpace,
}: DiskReserveOptions): DiskReserve {
  const users = new AsyncLocalStorage<true>();
  let checkedAt = -Infinity;
  let check: Promise<Error | undefined> = Promise.resolve(undefined);

  const measure = async () => {
    const { totalBytes, freeBytes } = await readSpace(folder);
    const bytes = Math.min(DISK_RESERVE_BYTES_MAX, Math.floor(totalBytes * DISK_RESERVE_SHARE));
    return { freeBytes, bytes, reservedBytes: statSync(file, { throwIfNoEntry: false })?.size ?? 0 };
  };
  /** Returns why there is no room; undefined if there is. */
  const findProblem = async (): Promise<Error | undefined> => {
    // The write itself tells that its folder was removed.
    if (!existsSync(folder)) return undefined;
    const { freeBytes, bytes, reservedBytes } = await measure();
    if (reservedBytes >= bytes) return undefined;
    // The file is replaced, so its old content is still there while the new one is written.
    if (freeBytes >= 2 * bytes) return await tryFill(file, bytes);
    return new Error(`ENOSPC: ${freeBytes} bytes are free, of which removals keep ${bytes}, '${folder}'`);
  };
  /** Reserves what is free, which may be less than it should be. */
  const reserveRest = async (): Promise<void> => {
    const { freeBytes, bytes, reservedBytes } = await measure();
    const restBytes = Math.min(bytes, freeBytes);
    if (restBytes > reservedBytes) await tryFill(file, restBytes);
  };
  const withoutReserve = async <T>(work: () => Promise<T>): Promise<T> => {
    rmSync(file, { force: true });
    checkedAt = -Infinity;
    try {
      return await work();
    } finally {
      await reserveRest();
    }
  };

  return {
    async open(work) {
      if ((await readSpace(folder)).freeBytes < DISK_START_BYTES_MIN) return await withoutReserve(work);
      await findProblem();
      return await work();
    },
    async requireSpace() {
      if (users.getStore()) return;
      const now = clock.monotonic();
      if (now - checkedAt >= DISK_CHECK_INTERVAL_MS) {
        checkedAt = now;
        check = findProblem();
      }
      const problem = await check;
      if (problem) throw createDiskFullError(problem);
    },
    use: (work) =>
      users.run(true, async () => {
        try {
          return await work();
        } catch (error) {
          if (!isDiskFull(error) || !existsSync(file)) throw error;
          return await withoutReserve(work);
        }
      }),
  };
}

/** Free space that opening a database needs: its log and the index of its log. Below: the reserve is freed first. */
const DISK_START_BYTES_MIN = 1024 * 1024;

/** Writes bytes that no file system can leave out or compress. @returns the error if another process was faster. */
async function tryFill(file: string, bytes: number): Promise<Error | undefined> {
  const temporary = `${file}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    const handle = await open(temporary, 'wx', 0o600);
    try {
      await nameFileInError(temporary, handle.writeFile(randomBytes(bytes)));
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, file);
    return undefined;
  } catch (error) {
    await rm(temporary, { force: true });
    if (isDiskFull(error) && error instanceof Error) return error;
    throw error;
  }
}
