import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { tryLockFile } from '../lib/file-lock.ts';
import { createTemporaryFolder } from './__fixtures__/temporary-folder.ts';
import { acquirePullLock } from './pull-lock.ts';

const LIMITS = { lockPollMs: 1 };

test('waits until the lock is released, and reports once that it waits', async (t) => {
  const path = join(await createTemporaryFolder(t), 'w.lock');
  const first = await acquirePullLock(path, LIMITS, { onWait: () => assert.fail('the lock is free') });
  let waits = 0;
  const second = await acquirePullLock(path, LIMITS, {
    onWait: () => {
      waits++;
      setImmediate(() => first.release());
    },
  });
  assert.equal(waits, 1);
  second.release();
});

test('stops waiting on an abort', async (t) => {
  const path = join(await createTemporaryFolder(t), 'w.lock');
  const held = tryLockFile(path);
  const stop = new AbortController();
  const onWait = (): void => stop.abort(new Error('stopped'));
  await assert.rejects(acquirePullLock(path, LIMITS, { signal: stop.signal, onWait }));
  held?.release();
});
