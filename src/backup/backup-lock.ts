import { chownSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { ServiceError } from '../core/error.ts';
import { tryLockFile, type FileLock } from '../lib/file-lock.ts';
import { BACKUP_LOCK_WAIT_MS } from './limits.ts';

const RETRY_MS = 50;

/** Returns the path whose lock a backup of the data folder holds: while it is held, no process deletes blobs. */
export const getBackupLockPath = (dataFolder: string): string => join(dataFolder, 'backup.lock');

/**
 * Locks the folder for one backup. The lock ends with its process.
 * @throws ServiceError `conflict` while another backup runs.
 */
export async function lockForBackup(folder: string): Promise<FileLock> {
  const path = getBackupLockPath(folder);
  for (let waitedMs = 0; ; waitedMs += RETRY_MS) {
    const lock = tryLockFile(path);
    if (lock) {
      giveToFolderOwner(path, folder);
      return lock;
    }
    if (waitedMs >= BACKUP_LOCK_WAIT_MS)
      throw new ServiceError('conflict', `Another backup is running in ${folder}. Wait until it has ended.`);
    await pause(RETRY_MS);
  }
}

/**
 * Gives a file that root has created in the data folder to the owner of that folder: the service could neither read the
 * state of root's lock nor write to root's folder.
 */
export function giveToFolderOwner(path: string, folder: string): void {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(folder);
  chownSync(path, uid, gid);
}
