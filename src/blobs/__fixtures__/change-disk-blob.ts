import { createHash } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Changes the bytes of a blob in a folder of the disk store without the store; undefined removes the blob. */
export async function changeDiskBlob(
  folder: string,
  blob: string,
  change: (bytes: Buffer) => Buffer | undefined,
): Promise<void> {
  const path = join(folder, createHash('sha256').update(blob).digest('hex').slice(0, 2), blob);
  const changed = change(await readFile(path));
  await (changed ? writeFile(path, changed) : rm(path));
}

/** Creates a change that flips the lowest bit of one byte. */
export const flipBitAt =
  (at: number) =>
  (bytes: Buffer): Buffer => {
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    return bytes;
  };
