import assert from 'node:assert/strict';
import { readFile, readdir, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock } from '../lib/clock.ts';
import { temporaryFolder } from './__fixtures__/temporary-folder.ts';
import type { PullLockNeeds } from './pull-lock.ts';
import { acquirePullLock, tryPullLock } from './pull-lock.ts';

const needsIn = (folder: string): PullLockNeeds => ({
  path: join(folder, 'w.lock'),
  clock: systemClock,
  limits: { lockPollMs: 1, lockStaleMs: 60_000 },
});

test('of two one gets the lock, and the other when it is released', async (t) => {
  const needs = needsIn(await temporaryFolder(t));
  const first = await tryPullLock(needs);
  assert.ok(first);
  assert.equal(await tryPullLock(needs), undefined);
  const waited: (number | undefined)[] = [];
  const second = acquirePullLock(needs, {
    onWait: (pid) => {
      waited.push(pid);
      void first.release();
    },
  });
  await (await second).release();
  assert.deepEqual(waited, [process.pid]);
});

test('who waits can leave', async (t) => {
  const needs = needsIn(await temporaryFolder(t));
  const held = await tryPullLock(needs);
  const stop = new AbortController();
  const onWait = (): void => stop.abort(new Error('stopped'));
  await assert.rejects(acquirePullLock(needs, { signal: stop.signal, onWait }));
  await held?.release();
});

/** A process id that no process has: ids end at 4194304 on Linux, and at 99999 on macOS. */
const NO_PID = 99_999_999;

const STALE: readonly [what: string, content: string, ageMs: number, isTaken: boolean][] = [
  ['a process that is gone', JSON.stringify({ pid: NO_PID, host: hostname(), token: 't' }), 0, true],
  ['a process of another host', JSON.stringify({ pid: NO_PID, host: 'elsewhere', token: 't' }), 0, false],
  ['another host, long without a sign', JSON.stringify({ pid: 1, host: 'elsewhere', token: 't' }), 120_000, true],
  ['a living process', JSON.stringify({ pid: process.pid, host: hostname(), token: 't' }), 0, false],
  ['nobody that can be read', '{', 0, false],
  ['nobody that can be read, old', '{', 120_000, true],
];

test('a lock is taken over when its holder is gone', async (t) => {
  for (const [what, content, ageMs, isTaken] of STALE) {
    const folder = await temporaryFolder(t);
    const needs = needsIn(folder);
    await writeFile(needs.path, content);
    const then = new Date(Date.now() - ageMs);
    await utimes(needs.path, then, then);
    const lock = await tryPullLock(needs);
    assert.equal(lock !== undefined, isTaken, what);
    assert.deepEqual(await readdir(folder), ['w.lock']);
    await lock?.release();
    assert.equal((await readdir(folder)).length, isTaken ? 0 : 1);
  }
});

test('of many who see a stale lock one gets it', async (t) => {
  const needs = needsIn(await temporaryFolder(t));
  await writeFile(needs.path, JSON.stringify({ pid: NO_PID, host: hostname(), token: 't' }));
  const locks = await Promise.all(Array.from({ length: 20 }, () => tryPullLock(needs)));
  assert.equal(locks.filter((lock) => lock !== undefined).length, 1);
  assert.match(await readFile(needs.path, 'utf8'), new RegExp(`"pid":${process.pid}`));
  for (const lock of locks) await lock?.release();
});

test('a lock that was taken over is not removed by its old holder', async (t) => {
  const needs = needsIn(await temporaryFolder(t));
  const lock = await tryPullLock(needs);
  const other = JSON.stringify({ pid: 1, host: 'elsewhere', token: 'other' });
  await writeFile(needs.path, other);
  await lock?.release();
  assert.equal(await readFile(needs.path, 'utf8'), other);
});
