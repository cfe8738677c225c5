import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createUploadLimiter } from './upload-limiter.ts';

describe('upload limiter', () => {
  it('runs a limited number of tasks, the others in order, and continues after a failure', async () => {
    const limiter = createUploadLimiter(2);
    const started: number[] = [];
    const gates = Array.from({ length: 4 }, () => Promise.withResolvers<void>());
    const tasks = gates.map(({ promise }, index) =>
      limiter.run(() => {
        started.push(index);
        return promise;
      }),
    );
    assert.deepEqual(started, [0, 1]);
    gates[1]?.reject(new Error('broken'));
    await assert.rejects(tasks[1] ?? Promise.resolve(), /broken/);
    assert.deepEqual(started, [0, 1, 2]);
    for (const { resolve } of gates) resolve();
    await Promise.allSettled(tasks);
    assert.deepEqual(started, [0, 1, 2, 3]);
    assert.equal(await limiter.run(async () => 'done'), 'done');
  });
});
