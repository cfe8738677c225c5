import { randomUUID } from 'node:crypto';
import { link, readFile, rename, rm, utimes } from 'node:fs/promises';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../lib/clock.ts';
import { createFile } from '../lib/durable-file.ts';
import { errorCode, statOf } from './file-system.ts';
import type { PullLimits } from './pull-options.ts';

/** Keeps everybody else who respects it, in this process or another, from downloading the same weights. */
export interface PullLock {
  release(): Promise<void>;
}

export interface PullLockNeeds {
  readonly path: string;
  readonly clock: Clock;
  readonly limits: Pick<PullLimits, 'lockPollMs' | 'lockStaleMs'>;
}

interface Holder {
  readonly pid: number;
  readonly host: string;
  readonly token: string;
}

/** Waits until the lock is free; `onWait` is called once, with the holder's process id, when it is not at once. */
export async function acquirePullLock(
  needs: PullLockNeeds,
  { signal, onWait }: { signal?: AbortSignal | undefined; onWait: (pid: number | undefined) => void },
): Promise<PullLock> {
  for (let isFirst = true; ; isFirst = false) {
    signal?.throwIfAborted();
    const lock = await tryPullLock(needs);
    if (lock) return lock;
    if (isFirst) onWait((await readHolder(needs.path))?.pid);
    await delay(needs.limits.lockPollMs, undefined, signal ? { signal } : {});
  }
}

/**
 * Undefined when somebody holds it. A lock whose holder is gone is taken over: its process does not exist any more
 * (known on the same host only), or it gave no sign for `lockStaleMs` (other hosts, containers with their own ids).
 */
export async function tryPullLock({ path, clock, limits }: PullLockNeeds): Promise<PullLock | undefined> {
  const mine: Holder = { pid: process.pid, host: hostname(), token: randomUUID() };
  const take = (): Promise<boolean> => createFile(path, JSON.stringify(mine), { mode: 0o644 });
  if (!(await take()) && !((await breakStale(path, clock, limits.lockStaleMs)) && (await take()))) return undefined;

  // Until our first sign the file has the time of the disk, which may not be that of the clock.
  const giveSign = (): Promise<void> => utimes(path, clock.now() / 1000, clock.now() / 1000);
  await giveSign();
  const timer = setInterval(() => {
    giveSign().catch(() => {
      // The lock was removed by hand: the content is still safe, because it is checked before it gets its name.
      clearInterval(timer);
    });
  }, limits.lockStaleMs / 4);
  timer.unref();
  return {
    async release() {
      clearInterval(timer);
      if ((await readHolder(path))?.token === mine.token) await rm(path, { force: true });
    },
  };
}

/** True when the lock was stale and is gone. */
async function breakStale(path: string, clock: Clock, staleMs: number): Promise<boolean> {
  const stats = await statOf(path);
  if (!stats) return true;
  const holder = await readHolder(path);
  if (clock.now() - stats.mtimeMs <= staleMs && (!holder || !isGone(holder))) return false;
  // Of several who see a stale lock each moves what is there now; who moved a new one puts it back.
  const aside = `${path}.${randomUUID()}`;
  try {
    await rename(path, aside);
  } catch (thrown) {
    if (errorCode(thrown) === 'ENOENT') return true;
    throw thrown;
  }
  const wasStale = (await readHolder(aside))?.token === holder?.token;
  if (!wasStale) {
    await link(aside, path).catch((thrown: unknown) => {
      if (errorCode(thrown) !== 'EEXIST') throw thrown;
    });
  }
  await rm(aside, { force: true });
  return wasStale;
}

function isGone({ pid, host }: Holder): boolean {
  if (host !== hostname()) return false;
  try {
    process.kill(pid, 0);
    return false;
  } catch (thrown) {
    return errorCode(thrown) === 'ESRCH';
  }
}

async function readHolder(path: string): Promise<Holder | undefined> {
  try {
    const parsed: unknown = JSON.parse(await readFile(path, 'utf8'));
    return isHolder(parsed) ? parsed : undefined;
  } catch (thrown) {
    if (errorCode(thrown) === 'ENOENT' || thrown instanceof SyntaxError) return undefined;
    throw thrown;
  }
}

const isHolder = (value: unknown): value is Holder =>
  typeof value === 'object' &&
  value !== null &&
  'pid' in value &&
  typeof value.pid === 'number' &&
  'host' in value &&
  typeof value.host === 'string' &&
  'token' in value &&
  typeof value.token === 'string';
