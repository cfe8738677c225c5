import { mkdir, opendir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../core/error.ts';
import { isCode, isMissing, onDisk } from './on-disk.ts';

export const FILE_MODE = 0o600;
export const FOLDER_MODE = 0o700;

/** Beside the folders of blobs, so on the same volume. What is in it has a dot in its name, which no blob has. */
const INCOMING = 'incoming';

/** The folder of what is coming in; it is made where it is not there. @throws ServiceError `internal`. */
export async function openIncoming(folder: string): Promise<string> {
  const incoming = join(folder, INCOMING);
  await onDisk(mkdir(incoming, { recursive: true, mode: FOLDER_MODE }));
  return incoming;
}

/** Removes what was last changed before that (UTC ms). @returns how many. */
export async function sweepIncoming(folder: string, before: number): Promise<number> {
  const incoming = join(folder, INCOMING);
  let swept = 0;
  for await (const name of entriesOf(incoming)) {
    const path = join(incoming, name);
    const changedAt = await changeOf(path);
    if (changedAt === undefined || changedAt >= before) continue;
    await onDisk(rm(path, { force: true }));
    swept += 1;
  }
  return swept;
}

/** None where there is no such folder. */
export async function* entriesOf(folder: string): AsyncGenerator<string> {
  const entries = await opendir(folder).catch((thrown: unknown) => {
    if (isMissing(thrown) || isCode(thrown, 'ENOTDIR')) return undefined;
    throw ServiceError.from(thrown);
  });
  if (!entries) return;
  for await (const { name } of entries) yield name;
}

/** Undefined where it has gone meanwhile. */
export async function changeOf(path: string): Promise<number | undefined> {
  try {
    return Math.trunc((await stat(path)).mtimeMs);
  } catch (thrown) {
    if (isMissing(thrown)) return undefined;
    throw ServiceError.from(thrown);
  }
}
