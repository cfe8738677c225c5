import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLineSemaphore } from './line-semaphore.ts';

const never = new AbortController().signal;

/** Lets all settled promises run. */
const yieldToEventLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('createLineSemaphore', () => {
  it('grants as many permits as it has, then in FIFO order', async () => {
    const semaphore = createLineSemaphore(2);
    const order: string[] = [];
    const releases: (() => void)[] = [];
    const work = ['a', 'b', 'c', 'd'].map(async (name) => {
      releases.push(await semaphore.acquire(never));
      order.push(name);
    });
    await yieldToEventLoop();
    assert.deepEqual(order, ['a', 'b']);
    releases[1]?.();
    await yieldToEventLoop();
    assert.deepEqual(order, ['a', 'b', 'c']);
    releases[0]?.();
    await Promise.all(work);
    assert.deepEqual(order, ['a', 'b', 'c', 'd']);
  });

  it('releases a permit only once', async () => {
    const semaphore = createLineSemaphore(1);
    const release = await semaphore.acquire(never);
    release();
    release();
    await semaphore.acquire(never);
    let isTaken = false;
    void semaphore.acquire(never).then(() => (isTaken = true));
    await yieldToEventLoop();
    assert.equal(isTaken, false);
  });

  it('skips waiters that aborted', async () => {
    const semaphore = createLineSemaphore(1);
    const release = await semaphore.acquire(never);
    const caller = new AbortController();
    const [gone, next] = [semaphore.acquire(caller.signal), semaphore.acquire(never)];
    caller.abort(new Error('gone'));
    await assert.rejects(gone, /gone/);
    release();
    await next;
    await assert.rejects(semaphore.acquire(caller.signal), /gone/);
  });
});
