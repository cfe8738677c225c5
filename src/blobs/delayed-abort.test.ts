import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { createDelayedAbort } from './delayed-abort.ts';
import { createUploadLimiter } from './upload-limiter.ts';

describe('delayed abort', () => {
  it('aborts after its delay once the trigger aborts', async () => {
    const trigger = new AbortController();
    const delayedAbort = createDelayedAbort(trigger.signal, 1);
    assert.equal(delayedAbort.signal.aborted, false);
    trigger.abort();
    assert.equal(delayedAbort.signal.aborted, false);
    await once(delayedAbort.signal, 'abort');
  });

  it('aborts also if the trigger was aborted from the start', async () => {
    await once(createDelayedAbort(AbortSignal.abort(), 1).signal, 'abort');
  });

  it('does not abort after dispose', (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const trigger = new AbortController();
    const delayedAbort = createDelayedAbort(trigger.signal, 1);
    trigger.abort();
    delayedAbort.dispose();
    t.mock.timers.tick(10);
    assert.equal(delayedAbort.signal.aborted, false);
  });
});

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
