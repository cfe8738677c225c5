import { join } from 'node:path';
import { ServiceError } from '../core/error.ts';
import { tryLockFile, type FileLock } from '../lib/file-lock.ts';

/** Keeps other services from a data folder, until the release or the end of this process. @throws ServiceError `conflict`. */
export function lockDataFolder(folder: string): FileLock {
  const lock = tryLockFile(join(folder, 'service.lock'));
  if (lock) return lock;
  throw new ServiceError(
    'conflict',
    `Another service uses the data folder ${folder}. Stop it, or give this one a folder of its own (data, PARLEY_DATA).`,
  );
}
