import type { Stats } from 'node:fs';
import { open, readdir, stat, statfs } from 'node:fs/promises';
import { ServiceError } from '../core/error.ts';
import { formatBytes } from './format-bytes.ts';

/** The code of a system error, e.g. `ENOENT`. */
export const errorCode = (thrown: unknown): string | undefined =>
  thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined;

/** Undefined where there is nothing. */
export async function statOf(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch (thrown) {
    if (errorCode(thrown) === 'ENOENT' || errorCode(thrown) === 'ENOTDIR') return undefined;
    throw thrown;
  }
}

/** The names in a folder; none where there is no folder yet. */
export async function readFolder(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (thrown) {
    if (errorCode(thrown) === 'ENOENT') return [];
    throw thrown;
  }
}

/** After this a power cut no longer takes the file's content, or the folder's entries, away. */
export async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Refuses a download that would fill the disk, before its first byte.
 * @throws ServiceError `storage-quota` with both numbers.
 */
export async function checkDiskSpace(folder: string, neededBytes: number, reserveBytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  const freeBytes = bavail * bsize;
  if (freeBytes >= neededBytes + reserveBytes) return;
  throw new ServiceError(
    'storage-quota',
    `Not enough disk space in ${folder}: ${formatBytes(neededBytes)} to download and ${formatBytes(reserveBytes)} to stay free, ${formatBytes(freeBytes)} there.`,
  );
}
