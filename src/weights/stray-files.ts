import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Weights } from '../core/weights.ts';
import { readFolder, statOf } from './file-system.ts';
import type { PullLockNeeds } from './pull-lock.ts';
import { tryPullLock } from './pull-lock.ts';
import { ownerOf } from './weights-files.ts';

/** Something in the models folder that nobody needs. */
export interface StrayFile {
  readonly path: string;
  readonly sizeBytes: number;
  /** `unnamed`: no weights of the catalogue have this name. `unfinished`: what an interrupted download left. */
  readonly why: 'unnamed' | 'unfinished';
}

/** Files with names that are not of our making are left alone, and so are weights that are being downloaded. */
export async function findStrayFiles(
  folder: string,
  keep: readonly Weights[],
  lockOf: (id: string) => PullLockNeeds,
): Promise<readonly StrayFile[]> {
  const kept = new Set(keep.map(({ id }) => id));
  const stray: StrayFile[] = [];
  for (const name of (await readFolder(folder)).toSorted()) {
    const owner = ownerOf(name);
    if (!owner || owner.kind === 'lock') continue;
    const { id, kind } = owner;
    const isNeeded = kept.has(id) && FINISHED.includes(kind);
    if (isNeeded || (await isBusy(lockOf(id)))) continue;
    const path = join(folder, name);
    stray.push({ path, sizeBytes: await sizeOf(path), why: kept.has(id) ? 'unfinished' : 'unnamed' });
  }
  return stray;
}

const FINISHED: readonly string[] = ['file', 'record', 'folder', 'folderRecord'];

async function isBusy(lock: PullLockNeeds): Promise<boolean> {
  const mine = await tryPullLock(lock);
  await mine?.release();
  return mine === undefined;
}

async function sizeOf(path: string): Promise<number> {
  const stats = await stat(path);
  if (!stats.isDirectory()) return stats.size;
  const names = await readdir(path, { recursive: true });
  const sizes = await Promise.all(names.map(async (name) => (await statOf(join(path, name)))?.size ?? 0));
  return sizes.reduce((sum, size) => sum + size, 0);
}
