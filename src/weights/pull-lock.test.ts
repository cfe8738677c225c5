import assert from 'node:assert/strict';
import { readFile, readdir, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock } from '../lib/clock.ts';
import { createTemporaryFolder } from './__fixtures__/temporary-folder.ts';
import { acquirePullLock, tryPullLock, type PullLockOptions } from './pull-lock.ts';

const createLockOptions = (folder: string): PullLockOptions => ({
  path: join(folder, 'w.lock'),
  clock: systemClock,
  limits: { lockPollMs: 1, lockStaleMs: 60_000 },
});

test('grants the lock to one process, and to the next after its release', async (t) => {
  const options = createLockOptions(await createTemporaryFolder(t));
  const first = await tryPullLock(options);
  assert.ok(first);
  assert.equal(await tryPullLock(options), undefined);
  const waited: (number | undefined)[] = [];
  const second = acquirePullLock(options, {
    onWait: (pid) => {
      waited.push(pid);
      void first.release();
    },
  });
  await (await second).release();
  assert.deepEqual(waited, [process.pid]);
});

test('stops waiting on an abort', async (t) => {
  const options = createLockOptions(await createTemporaryFolder(t));
  const held = await tryPullLock(options);
  const stop = new AbortController();
  const onWait = (): void => stop.abort(new Error('stopped'));
  await assert.rejects(acquirePullLock(options, { signal: stop.signal, onWait }));
  await held?.release();
});

/** A process id that does not exist: ids end at 4194304 on Linux and at 99999 on macOS. */
const NO_PID = 99_999_999;

const STALE: readonly [what: string, content: string, ageMs: number, isTaken: boolean][] = [
  ['a process that has ended', JSON.stringify({ pid: NO_PID, host: hostname(), token: 't' }), 0, true],
  ['a process of another host', JSON.stringify({ pid: NO_PID, host: 'elsewhere', token: 't' }), 0, false],
  ['another host, not refreshed for long', JSON.stringify({ pid: 1, host: 'elsewhere', token: 't' }), 120_000, true],
  ['a running process', JSON.stringify({ pid: process.pid, host: hostname(), token: 't' }), 0, false],
  ['an unreadable holder', '{', 0, false],
  ['an unreadable holder, not refreshed for long', '{', 120_000, true],
];

test('replaces a stale lock', async (t) => {
  for (const [what, content, ageMs, isTaken] of STALE) {
    const folder = await createTemporaryFolder(t);
    const options = createLockOptions(folder);
    await writeFile(options.path, content);
    const then = new Date(Date.now() - ageMs);
    await utimes(options.path, then, then);
    const lock = await tryPullLock(options);
    assert.equal(lock !== undefined, isTaken, what);
    assert.deepEqual(await readdir(folder), ['w.lock']);
    await lock?.release();
    assert.equal((await readdir(folder)).length, isTaken ? 0 : 1);
  }
});

test('grants a stale lock to exactly one of many', async (t) => {
  const options = createLockOptions(await createTemporaryFolder(t));
  await writeFile(options.path, JSON.stringify({ pid: NO_PID, host: hostname(), token: 't' }));
  const locks = await Promise.all(Array.from({ length: 20 }, () => tryPullLock(options)));
  assert.equal(locks.filter((lock) => lock !== undefined).length, 1);
  assert.match(await readFile(options.path, 'utf8'), new RegExp(`"pid":${process.pid}`));
  for (const lock of locks) await lock?.release();
});

test('the previous holder does not remove a lock that was taken over', async (t) => {
  const options = createLockOptions(await createTemporaryFolder(t));
  const lock = await tryPullLock(options);
  const other = JSON.stringify({ pid: 1, host: 'elsewhere', token: 'other' });
  await writeFile(options.path, other);
  await lock?.release();
  assert.equal(await readFile(options.path, 'utf8'), other);
});
