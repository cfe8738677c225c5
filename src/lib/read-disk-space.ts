import { existsSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';

export interface DiskSpace {
  readonly totalBytes: number;
  /** The bytes that this process may still write. */
  readonly freeBytes: number;
}

/** Returns the folder, or its nearest ancestor that exists: the folder will be created on the same disk. */
export function findExistingFolder(folder: string): string {
  return existsSync(folder) || dirname(folder) === folder ? folder : findExistingFolder(dirname(folder));
}

/** Reads the space of the disk that a folder is on. */
export async function readDiskSpace(folder: string): Promise<DiskSpace> {
  const { bavail, blocks, bsize } = await statfs(folder);
  return { totalBytes: blocks * bsize, freeBytes: bavail * bsize };
}
