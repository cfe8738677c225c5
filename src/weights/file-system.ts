import type { Stats } from 'node:fs';
import { open, readdir, readFile, stat, statfs } from 'node:fs/promises';
import type { z } from 'zod';
import { ServiceError } from '../core/error.ts';
import { formatBytes } from './format-bytes.ts';
import { getErrorCode } from '../lib/error-code.ts';

/** Returns the metadata of a file or folder, or undefined when it does not exist. */
export async function statIfExists(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch (thrown) {
    if (getErrorCode(thrown) === 'ENOENT' || getErrorCode(thrown) === 'ENOTDIR') return undefined;
    throw thrown;
  }
}

/** Returns the names in a folder; an empty list when the folder does not exist. */
export async function listFolder(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (thrown) {
    if (getErrorCode(thrown) === 'ENOENT') return [];
    throw thrown;
  }
}

/** Returns the text of a file, or undefined when the file does not exist. */
export async function readTextIfExists(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (thrown) {
    if (getErrorCode(thrown) === 'ENOENT') return undefined;
    throw thrown;
  }
}

/** Returns the JSON value of a file, or undefined when the file does not exist or its value is not valid. */
export async function readJsonIfValid<Schema extends z.ZodType>(
  path: string,
  schema: Schema,
): Promise<z.output<Schema> | undefined> {
  try {
    return schema.safeParse(JSON.parse((await readTextIfExists(path)) ?? 'null')).data;
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return undefined;
    throw thrown;
  }
}

/** Returns the text of a configuration file that may be missing or belong to another user; empty then. */
export async function readTextIfReadable(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (thrown) {
    if (['ENOENT', 'ENOTDIR', 'EACCES', 'EISDIR'].includes(getErrorCode(thrown) ?? '')) return '';
    throw thrown;
  }
}

/** Flushes a file, or the entries of a folder, to disk, so that they survive a power failure. */
export async function syncToDisk(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Rejects a download that would fill the disk, before its first byte.
 * @throws ServiceError `storage-quota` with the needed and the available space.
 */
export async function checkDiskSpace(folder: string, neededBytes: number, reserveBytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  const freeBytes = bavail * bsize;
  if (freeBytes >= neededBytes + reserveBytes) return;
  throw new ServiceError(
    'storage-quota',
    `Not enough disk space in ${folder}: the download needs ${formatBytes(neededBytes)} and ${formatBytes(reserveBytes)} must stay free, but ${formatBytes(freeBytes)} are available.`,
  );
}
