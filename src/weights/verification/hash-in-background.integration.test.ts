import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { hashBytes } from '../__fixtures__/fake-hub.ts';
import { createTemporaryFolder } from '../__fixtures__/temporary-folder.ts';
import { hashInBackground } from './hash-in-background.ts';
import { hashSlowly } from './hash-slowly.ts';

const MEBIBYTE = 1024 * 1024;
const CONTENT = Buffer.alloc(3 * MEBIBYTE, 'x');

test('hashes a file in a process of its own', async (t) => {
  const path = join(await createTemporaryFolder(t), 'file');
  await writeFile(path, CONTENT);
  const { signal } = new AbortController();
  assert.equal(await hashInBackground({ path, bytesPerSecond: Infinity }, signal), hashBytes(CONTENT));
  await assert.rejects(hashInBackground({ path: `${path}-none`, bytesPerSecond: 1 }, signal), /ENOENT/);
});

test('an abort ends the process', async (t) => {
  const path = join(await createTemporaryFolder(t), 'file');
  await writeFile(path, CONTENT);
  const leaving = new AbortController();
  const hashing = hashInBackground({ path, bytesPerSecond: 1 }, leaving.signal);
  leaving.abort(new Error('closing'));
  await assert.rejects(hashing, new Error('closing'));
});

test('waits after each part, so that it reads no faster than it may', async (t) => {
  const path = join(await createTemporaryFolder(t), 'file');
  await writeFile(path, CONTENT);
  let nowMs = 0;
  const pauses: number[] = [];
  const pause = async (ms: number): Promise<void> => {
    pauses.push(ms);
    nowMs += ms;
  };
  assert.equal(await hashSlowly({ path, bytesPerSecond: MEBIBYTE }, pause, () => nowMs), hashBytes(CONTENT));
  assert.deepEqual([pauses.length > 0, nowMs], [true, 3_000]);
});
