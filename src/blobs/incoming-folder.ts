import { mkdir, opendir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../core/error.ts';
import { hasErrorCode, isMissingFile, mapDiskErrors } from './map-disk-errors.ts';

export const FILE_MODE = 0o600;
export const FOLDER_MODE = 0o700;

/** Next to the blob folders, hence on the same volume. Its files have a dot in their names; blob names have none. */
const INCOMING_FOLDER = 'incoming';

/** Returns the folder of unfinished uploads and creates it if it is missing. @throws ServiceError `internal`. */
export async function openIncomingFolder(folder: string): Promise<string> {
  const incoming = join(folder, INCOMING_FOLDER);
  await mapDiskErrors(mkdir(incoming, { recursive: true, mode: FOLDER_MODE }));
  return incoming;
}

/** Removes files that were last changed before `before` (UTC ms). @returns the number of removed files. */
export async function removeStaleIncomingFiles(folder: string, before: number): Promise<number> {
  const incoming = join(folder, INCOMING_FOLDER);
  let removed = 0;
  for await (const name of listEntryNames(incoming)) {
    const path = join(incoming, name);
    const file = await readFileStats(path);
    if (!file || file.changedAt >= before) continue;
    await mapDiskErrors(rm(path, { force: true }));
    removed += 1;
  }
  return removed;
}

/** Lists the names of a folder; none if the folder does not exist. */
export async function* listEntryNames(folder: string): AsyncGenerator<string> {
  const entries = await opendir(folder).catch((thrown: unknown) => {
    if (isMissingFile(thrown) || hasErrorCode(thrown, 'ENOTDIR')) return undefined;
    throw ServiceError.from(thrown);
  });
  if (!entries) return;
  for await (const { name } of entries) yield name;
}

/** Returns size and time of the last change (UTC ms); undefined if the file no longer exists. */
export async function readFileStats(
  path: string,
): Promise<{ readonly sizeBytes: number; readonly changedAt: number } | undefined> {
  try {
    const { size, mtimeMs } = await stat(path);
    return { sizeBytes: size, changedAt: Math.trunc(mtimeMs) };
  } catch (thrown) {
    if (isMissingFile(thrown)) return undefined;
    throw ServiceError.from(thrown);
  }
}
