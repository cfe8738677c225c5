import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createRecognitionLimit } from './recognition-limit.ts';

describe('createRecognitionLimit', () => {
  it('leaves a slot to other workspaces', async () => {
    const limit = createRecognitionLimit(4, async () => true);
    const releases = await Promise.all([1, 2, 3].map(() => limit.acquire('a')));
    await assert.rejects(limit.acquire('a'), {
      kind: 'overloaded',
      message: '3 recognitions of the workspace are running, which is the limit. Try again later.',
    });
    await limit.acquire('b');
    await assert.rejects(limit.acquire('b'), {
      kind: 'overloaded',
      message: '4 recognitions are running, which is the limit. Try again later.',
    });
    releases[0]?.();
    releases[0]?.();
    await limit.acquire('b');
    await assert.rejects(limit.acquire('a'), { kind: 'overloaded' });
  });

  it('gives a workspace all slots while there is no other one', async () => {
    const limit = createRecognitionLimit(2, async () => false);
    await Promise.all([limit.acquire('a'), limit.acquire('a')]);
    await assert.rejects(limit.acquire('a'), { kind: 'overloaded' });
  });

  it('gives the only slot to any workspace', async () => {
    const limit = createRecognitionLimit(1, async () => true);
    (await limit.acquire('a'))();
    await limit.acquire('b');
    await assert.rejects(limit.acquire('a'), {
      kind: 'overloaded',
      message: 'Another recognition is running, which is the limit. Try again later.',
    });
  });
});
