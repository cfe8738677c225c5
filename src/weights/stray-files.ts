import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Weights } from '../core/weights.ts';
import { tryLockFile } from '../lib/file-lock.ts';
import { listFolder, statIfExists } from './file-system.ts';
import { listStoredIds } from './split-weights.ts';
import { isFinishedKind, parseWeightsFileName } from './weights-files.ts';

/** A file or folder in the models folder that no weights need. */
export interface StrayFile {
  readonly path: string;
  readonly sizeBytes: number;
  /** `unnamed`: no weights to keep have this id. `unfinished`: an interrupted download left it. */
  readonly reason: 'unnamed' | 'unfinished';
}

/** Finds stray files. Leaves out files that Parley did not name and weights that are being downloaded. */
export async function findStrayFiles(
  folder: string,
  keep: readonly Weights[],
  getLockPath: (id: string) => string,
): Promise<readonly StrayFile[]> {
  const keptIds = new Set(keep.flatMap(listStoredIds));
  const stray: StrayFile[] = [];
  for (const name of (await listFolder(folder)).toSorted()) {
    const parsedName = parseWeightsFileName(name);
    if (!parsedName || parsedName.kind === 'lock') continue;
    const { id, kind } = parsedName;
    const isNeeded = keptIds.has(id) && isFinishedKind(kind);
    if (isNeeded || isLocked(getLockPath(id))) continue;
    const path = join(folder, name);
    stray.push({ path, sizeBytes: await measureBytes(path), reason: keptIds.has(id) ? 'unfinished' : 'unnamed' });
  }
  return stray;
}

function isLocked(path: string): boolean {
  const lock = tryLockFile(path);
  lock?.release();
  return lock === undefined;
}

async function measureBytes(path: string): Promise<number> {
  const stats = await stat(path);
  if (!stats.isDirectory()) return stats.size;
  const names = await readdir(path, { recursive: true });
  const sizes = await Promise.all(names.map(async (name) => (await statIfExists(join(path, name)))?.size ?? 0));
  return sizes.reduce((sum, size) => sum + size, 0);
}
