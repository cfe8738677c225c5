import { statfs } from 'node:fs/promises';

/** Returns the bytes that this process may still write to the disk of a folder. */
export async function readFreeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}
