import { statfs } from 'node:fs/promises';

export interface DiskSpace {
  readonly totalBytes: number;
  /** The bytes that this process may still write. */
  readonly freeBytes: number;
}

/** Reads the space of the disk that a folder is on. */
export async function readDiskSpace(folder: string): Promise<DiskSpace> {
  const { bavail, blocks, bsize } = await statfs(folder);
  return { totalBytes: blocks * bsize, freeBytes: bavail * bsize };
}
