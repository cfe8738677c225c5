import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createRecognitionLimit } from './recognition-limit.ts';

describe('createRecognitionLimit', () => {
  it('leaves a slot to other workspaces', () => {
    const limit = createRecognitionLimit(4);
    const releases = [1, 2, 3].map(() => limit.acquire('a'));
    assert.throws(() => limit.acquire('a'), {
      kind: 'overloaded',
      message: '3 recognitions of the workspace are running, which is the limit. Try again later.',
    });
    limit.acquire('b');
    assert.throws(() => limit.acquire('b'), {
      kind: 'overloaded',
      message: '4 recognitions are running, which is the limit. Try again later.',
    });
    releases[0]?.();
    releases[0]?.();
    limit.acquire('b');
    assert.throws(() => limit.acquire('a'), { kind: 'overloaded' });
  });

  it('gives the only slot to any workspace', () => {
    const limit = createRecognitionLimit(1);
    limit.acquire('a')();
    limit.acquire('b');
    assert.throws(() => limit.acquire('a'), {
      kind: 'overloaded',
      message: 'Another recognition is running, which is the limit. Try again later.',
    });
  });
});
