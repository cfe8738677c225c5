import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createTaskQueue, type QueuedTask } from './task-queue.ts';

const owner = (key: string) => ({ workspace: 'w', key });
const never = new AbortController().signal;

/** Tasks that wait until `open` is called. */
function createBlockedTasks() {
  const started: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const task =
    (name: string): QueuedTask<string> =>
    async () => {
      started.push(name);
      await promise;
      return name;
    };
  return { started, open: resolve, task };
}

describe('createTaskQueue', () => {
  it('runs one task at a time, alternates between callers, and returns results in order', async () => {
    const queue = createTaskQueue({ queueLengthMax: 8, queueWaitMsMax: 60_000 });
    const { started, open, task } = createBlockedTasks();
    const all = Promise.all([
      queue.run(owner('a'), [task('a1'), task('a2'), task('a3')], never),
      queue.run(owner('b'), [task('b1'), task('b2')], never),
    ]);
    assert.deepEqual(started, ['a1']);
    open();
    assert.deepEqual(await all, [
      ['a1', 'a2', 'a3'],
      ['b1', 'b2'],
    ]);
    // The second task of the first request was already queued when the other request arrived.
    assert.deepEqual(started, ['a1', 'a2', 'b1', 'a3', 'b2']);
  });

  it('runs background tasks when nobody else waits, also between two tasks of one request', async () => {
    const queue = createTaskQueue({ queueLengthMax: 8, queueWaitMsMax: 60_000 });
    const { started, open, task } = createBlockedTasks();
    const all = Promise.all([
      queue.run(
        { ...owner('a'), priority: 'background' },
        [task('background 1'), task('background 2'), task('background 3')],
        never,
      ),
      queue.run(owner('b'), [task('b1'), task('b2')], never),
      queue.run(owner('c'), [task('c1')], never),
    ]);
    open();
    await all;
    assert.deepEqual(started, ['background 1', 'b1', 'c1', 'b2', 'background 2', 'background 3']);
  });

  it('refuses a key beyond its share, and everybody when it is full', async () => {
    const queue = createTaskQueue({ queueLengthMax: 4, queueWaitMsMax: 60_000 });
    const { open, task } = createBlockedTasks();
    const run = (key: string) => queue.run(owner(key), [task(key)], never);
    const running = run('a');
    const waiting = [run('a'), run('a'), run('b'), run('b')];
    await assert.rejects(run('a'), /this API key already has half/);
    await assert.rejects(run('c'), (error: Error & { refusal?: { kind: string; retryAfterSeconds: number } }) => {
      assert.equal(error.refusal?.kind, 'queue-full');
      assert.ok(error.refusal.retryAfterSeconds > 0);
      return true;
    });
    open();
    await Promise.all([running, ...waiting]);
  });

  it('rejects with the abort reason, informs the running task, and continues with the next request', async () => {
    const queue = createTaskQueue({ queueLengthMax: 4, queueWaitMsMax: 60_000 });
    const { open, task } = createBlockedTasks();
    const caller = new AbortController();
    let isCanceled: () => boolean = () => false;
    const left = queue.run(
      owner('a'),
      [
        async (isTaskCanceled) => {
          isCanceled = isTaskCanceled;
          return await task('a1')(isTaskCanceled);
        },
        task('a2'),
      ],
      caller.signal,
    );
    const next = queue.run(owner('b'), [task('b1')], never);
    caller.abort();
    await assert.rejects(left, { kind: 'cancelled' });
    assert.ok(isCanceled());
    open();
    assert.deepEqual(await next, ['b1']);
    await assert.rejects(queue.run(owner('a'), [task('a')], caller.signal), { kind: 'cancelled' });
  });

  it('passes an error to the request that caused it, and continues with the next one', async () => {
    const queue = createTaskQueue({ queueLengthMax: 4, queueWaitMsMax: 60_000 });
    const broken = queue.run(owner('a'), [() => Promise.reject(new Error('broken')), async () => 'never'], never);
    const next = queue.run(owner('b'), [async () => 'b'], never);
    await assert.rejects(broken, /broken/);
    assert.deepEqual(await next, ['b']);
  });

  it('refuses a request that waits too long for its first task', async () => {
    const queue = createTaskQueue({ queueLengthMax: 4, queueWaitMsMax: 1 });
    const { open, task } = createBlockedTasks();
    const first = queue.run(owner('a'), [task('a')], never);
    await assert.rejects(queue.run(owner('b'), [task('b')], never), /did not start within 1 ms/);
    open();
    assert.deepEqual(await first, ['a']);
  });
});
