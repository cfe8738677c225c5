import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { link, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { getErrorCode } from './error-code.ts';
import { nameFileInError } from './name-file-in-error.ts';

/**
 * Replaces a file atomically: readers see the old text or the new one, also after a power failure.
 * @param options `mode`: permissions of the new file.
 */
export async function replaceFile(path: string, text: string, { mode }: { mode: number }): Promise<void> {
  const temporary = await writeTemporaryFile(path, text, mode);
  try {
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await syncToDisk(dirname(path));
}

/** Creates a file atomically. @returns false when it exists already; of several concurrent calls one returns true. */
export async function createFile(path: string, text: string, { mode }: { mode: number }): Promise<boolean> {
  // Nothing is written then, so that this works on a full disk.
  if (existsSync(path)) return false;
  const temporary = await writeTemporaryFile(path, text, mode);
  try {
    await link(temporary, path); // unlike a rename, this refuses to replace
  } catch (error) {
    if (getErrorCode(error) === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(temporary, { force: true });
  }
  await syncToDisk(dirname(path));
  return true;
}

/** Writes a file in the same folder, because a rename across volumes would copy. */
async function writeTemporaryFile(path: string, text: string, mode: number): Promise<string> {
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  const file = await open(temporary, 'wx', mode);
  try {
    await nameFileInError(temporary, file.writeFile(text));
    await nameFileInError(temporary, file.sync());
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  } finally {
    await file.close();
  }
  return temporary;
}

/** Flushes a file, or the names in a folder, to the disk, so that they survive a power failure. */
export async function syncToDisk(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
