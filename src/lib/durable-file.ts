import { randomBytes } from 'node:crypto';
import { link, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/** A reader sees the old text or the new one, never a part; after a power cut too. `mode` is that of the new file. */
export async function replaceFile(path: string, text: string, { mode }: { mode: number }): Promise<void> {
  const temporary = await writeBeside(path, text, mode);
  try {
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await syncFolder(dirname(path));
}

/** The same, but only where there is no such file yet: of several at once, one gets true. */
export async function createFile(path: string, text: string, { mode }: { mode: number }): Promise<boolean> {
  const temporary = await writeBeside(path, text, mode);
  try {
    await link(temporary, path); // unlike a rename, this refuses to replace
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(temporary, { force: true });
  }
  await syncFolder(dirname(path));
  return true;
}

/** In the same folder: a rename across volumes would be a copy. */
async function writeBeside(path: string, text: string, mode: number): Promise<string> {
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  const file = await open(temporary, 'wx', mode);
  try {
    await file.writeFile(text);
    await file.sync();
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  } finally {
    await file.close();
  }
  return temporary;
}

/** The new name is durable only when the folder is. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
