import { randomUUID } from 'node:crypto';
import { link, rename, rm, utimes } from 'node:fs/promises';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { Clock } from '../lib/clock.ts';
import { createFile } from '../lib/durable-file.ts';
import { statIfExists, readJsonIfValid } from './file-system.ts';
import type { PullLimits } from './pull-limits.ts';
import { getErrorCode } from '../lib/error-code.ts';
import { isProcessRunning } from '../lib/is-process-running.ts';

/** Lock file that prevents other pulls of the same weights, in this process and in others. */
export interface PullLock {
  release(): Promise<void>;
}

export interface PullLockOptions {
  readonly path: string;
  readonly clock: Clock;
  readonly limits: Pick<PullLimits, 'lockPollMs' | 'lockStaleMs'>;
}

const LockHolder = z.object({ pid: z.number(), host: z.string(), token: z.string() });
type LockHolder = Readonly<z.infer<typeof LockHolder>>;

/** Waits for the lock. Calls `onWait` once, with the holder's process id, when the lock is not free at once. */
export async function acquirePullLock(
  options: PullLockOptions,
  { signal, onWait }: { signal?: AbortSignal | undefined; onWait: (pid: number | undefined) => void },
): Promise<PullLock> {
  for (let isFirst = true; ; isFirst = false) {
    signal?.throwIfAborted();
    const lock = await tryPullLock(options);
    if (lock) return lock;
    if (isFirst) onWait((await readHolder(options.path))?.pid);
    await delay(options.limits.lockPollMs, undefined, signal ? { signal } : {});
  }
}

/**
 * Takes the lock; returns undefined when another process holds it. A stale lock is replaced: its process does not exist
 * any more (known on the same host only), or it was not refreshed for `lockStaleMs` (other hosts and containers).
 */
export async function tryPullLock({ path, clock, limits }: PullLockOptions): Promise<PullLock | undefined> {
  const ownHolder: LockHolder = { pid: process.pid, host: hostname(), token: randomUUID() };
  const createLockFile = (): Promise<boolean> => createFile(path, JSON.stringify(ownHolder), { mode: 0o644 });
  if (
    !(await createLockFile()) &&
    !((await removeStaleLock(path, clock, limits.lockStaleMs)) && (await createLockFile()))
  )
    return undefined;

  // Sets the file's time from the clock, because the disk's own time may differ from it.
  const refreshLock = (): Promise<void> => utimes(path, clock.now() / 1000, clock.now() / 1000);
  await refreshLock();
  const timer = setInterval(() => {
    refreshLock().catch(() => {
      // The lock file was removed by hand. The content stays safe: it is verified before it gets its final name.
      clearInterval(timer);
    });
  }, limits.lockStaleMs / 4);
  timer.unref();
  return {
    async release() {
      clearInterval(timer);
      if ((await readHolder(path))?.token === ownHolder.token) await rm(path, { force: true });
    },
  };
}

/** Removes the lock file when it is stale. Returns true when no lock file is left. */
async function removeStaleLock(path: string, clock: Clock, staleMs: number): Promise<boolean> {
  const stats = await statIfExists(path);
  if (!stats) return true;
  const holder = await readHolder(path);
  if (clock.now() - stats.mtimeMs <= staleMs && (!holder || !isProcessGone(holder))) return false;
  // Several processes may see the same stale lock; each moves the file it finds, and puts a newer lock back.
  const movedPath = `${path}.${randomUUID()}`;
  try {
    await rename(path, movedPath);
  } catch (thrown) {
    if (getErrorCode(thrown) === 'ENOENT') return true;
    throw thrown;
  }
  const isSameLock = (await readHolder(movedPath))?.token === holder?.token;
  if (!isSameLock) {
    await link(movedPath, path).catch((thrown: unknown) => {
      if (getErrorCode(thrown) !== 'EEXIST') throw thrown;
    });
  }
  await rm(movedPath, { force: true });
  return isSameLock;
}

const isProcessGone = ({ pid, host }: LockHolder): boolean => host === hostname() && !isProcessRunning(pid);

const readHolder = (path: string): Promise<LockHolder | undefined> => readJsonIfValid(path, LockHolder);
