import type { Stats } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import type { z } from 'zod';
import { ServiceError } from '../core/error.ts';
import { formatBytes } from './format-bytes.ts';
import { getErrorCode } from '../lib/error-code.ts';
import { readDiskSpace } from '../lib/read-disk-space.ts';

/** Returns the result of a call to the file system, or undefined when the call fails with one of the codes. */
const toUndefined = <T>(result: Promise<T>, ...codes: readonly string[]): Promise<T | undefined> =>
  result.catch((thrown: unknown) => {
    if (codes.includes(getErrorCode(thrown) ?? '')) return undefined;
    throw thrown;
  });

/** Returns the metadata of a file or folder, or undefined when it does not exist. */
export const statIfExists = (path: string): Promise<Stats | undefined> => toUndefined(stat(path), 'ENOENT', 'ENOTDIR');

/** Returns the names in a folder; an empty list when the folder does not exist. */
export const listFolder = async (folder: string): Promise<readonly string[]> =>
  (await toUndefined(readdir(folder), 'ENOENT')) ?? [];

/** Returns the text of a file, or undefined when the file does not exist. */
export const readTextIfExists = (path: string): Promise<string | undefined> =>
  toUndefined(readFile(path, 'utf8'), 'ENOENT');

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
export const readTextIfReadable = async (file: string): Promise<string> =>
  (await toUndefined(readFile(file, 'utf8'), 'ENOENT', 'ENOTDIR', 'EACCES', 'EISDIR')) ?? '';

/**
 * Rejects a download that would fill the disk, before its first byte.
 * @throws ServiceError `storage-quota` with the needed and the available space.
 */
export async function checkDiskSpace(folder: string, neededBytes: number, reserveBytes: number): Promise<void> {
  const { freeBytes } = await readDiskSpace(folder);
  if (freeBytes >= neededBytes + reserveBytes) return;
  throw new ServiceError(
    'storage-quota',
    `Not enough disk space in ${folder}: the download needs ${formatBytes(neededBytes)} and ${formatBytes(reserveBytes)} must stay free, but ${formatBytes(freeBytes)} are available.`,
  );
}
