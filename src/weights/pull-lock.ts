import { setTimeout as delay } from 'node:timers/promises';
import { tryLockFile, type FileLock } from '../lib/file-lock.ts';
import type { PullLimits } from './pull-limits.ts';

/**
 * Waits for the lock that prevents other pulls of the same weights, in this process and in others. Calls `onWait` once
 * when the lock is not free at once.
 */
export async function acquirePullLock(
  path: string,
  limits: Pick<PullLimits, 'lockPollMs'>,
  { signal, onWait }: { signal?: AbortSignal | undefined; onWait: () => void },
): Promise<FileLock> {
  for (let isFirst = true; ; isFirst = false) {
    signal?.throwIfAborted();
    const lock = tryLockFile(path);
    if (lock) return lock;
    if (isFirst) onWait();
    await delay(limits.lockPollMs, undefined, signal ? { signal } : {});
  }
}
