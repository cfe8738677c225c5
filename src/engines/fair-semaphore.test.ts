import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ServiceError } from '../core/error.ts';
import { isBackground } from './priority.ts';
import { createFairSemaphore } from './fair-semaphore.ts';

const createTestSemaphore = (total = 2, { queuePlacesMax: queueLengthMax = 8, queueWaitMsMax = 60_000 } = {}) =>
  createFairSemaphore({
    canAcquire: ({ owner, count, taken }) => taken === 0 || taken + count <= (isBackground(owner) ? total - 1 : total),
    queueLengthMax: queueLengthMax,
    queueWaitMsMax,
  });
const createCaller = (key = 'k', signal = new AbortController().signal) => ({ owner: { workspace: 'w', key }, signal });

const createBackgroundCaller = (key = 'k') => ({
  owner: { workspace: 'w', key, priority: 'background' as const },
  signal: new AbortController().signal,
});

/** Lets everything that is due run. */
const yieldToEventLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('createFairSemaphore', () => {
  it('grants all permits of a request at once, strictly in order', async () => {
    const semaphore = createTestSemaphore();
    const order: string[] = [];
    const freeOne = await semaphore.acquire(1, createCaller());
    const both = semaphore.acquire(2, createCaller('a')).then((free) => (order.push('both'), free));
    const one = semaphore.acquire(1, createCaller('b')).then((free) => (order.push('one'), free));
    await yieldToEventLoop();
    assert.deepEqual(order, [], 'one permit is free, but the request for both is first in the queue');
    freeOne();
    const freeBoth = await both;
    assert.deepEqual(order, ['both']);
    freeBoth();
    (await one)();
  });

  it('releases permits once, however often release is called', async () => {
    const semaphore = createTestSemaphore(1);
    const free = await semaphore.acquire(1, createCaller());
    free();
    free();
    await semaphore.acquire(1, createCaller());
    const caller = new AbortController();
    const third = semaphore.acquire(1, createCaller('k', caller.signal));
    await yieldToEventLoop();
    caller.abort();
    await assert.rejects(third, { kind: 'cancelled' });
  });

  it('drops an aborted waiter, and serves the next one', async () => {
    const semaphore = createTestSemaphore(2);
    await semaphore.acquire(1, createCaller());
    const caller = new AbortController();
    const large = semaphore.acquire(2, createCaller('a', caller.signal));
    const small = semaphore.acquire(1, createCaller('b'));
    caller.abort(new ServiceError('timeout', 'too late'));
    await assert.rejects(large, { kind: 'timeout' });
    await small;
    await assert.rejects(semaphore.acquire(1, createCaller('c', AbortSignal.abort())), { kind: 'cancelled' });
  });

  it('rejects if the queue is full, a key has its share, or the wait is too long', async () => {
    const semaphore = createTestSemaphore(1, { queuePlacesMax: 2 });
    const free = await semaphore.acquire(1, createCaller());
    const first = semaphore.acquire(1, createCaller('a'));
    await assert.rejects(semaphore.acquire(1, createCaller('a')), { kind: 'rate-limited' });
    const second = semaphore.acquire(1, createCaller('b'));
    await assert.rejects(semaphore.acquire(1, createCaller('c')), (error) => {
      assert.ok(error instanceof ServiceError);
      assert.equal(error.kind, 'overloaded');
      assert.ok((error.retryAfterSeconds ?? 0) > 0);
      return true;
    });
    free();
    (await first)();
    (await second)();
    const slow = createTestSemaphore(1, { queueWaitMsMax: 1 });
    await slow.acquire(1, createCaller());
    await assert.rejects(slow.acquire(1, createCaller()), { kind: 'overloaded' });
  });

  it('leaves the last permit to live requests, and serves background requests when none waits', async () => {
    const semaphore = createTestSemaphore(2);
    const order: string[] = [];
    const wait = (name: string, permit: Promise<() => void>): Promise<() => void> =>
      permit.then((free) => (order.push(name), free));
    const first = await semaphore.acquire(1, createBackgroundCaller());
    const second = wait('background', semaphore.acquire(1, createBackgroundCaller()));
    await yieldToEventLoop();
    assert.deepEqual(order, [], 'the last permit is for a live request');
    const live = await semaphore.acquire(1, createCaller());
    const nextLive = wait('live', semaphore.acquire(1, createCaller()));
    first();
    (await nextLive)();
    assert.deepEqual(order, ['live'], 'it came later and went first');
    live();
    (await second)();
    assert.deepEqual(order, ['live', 'background']);
  });

  it('grants all permits to a background request if none is in use', async () => {
    const semaphore = createTestSemaphore(2);
    (await semaphore.acquire(2, createBackgroundCaller()))();
    const single = createTestSemaphore(1);
    (await single.acquire(1, createBackgroundCaller()))();
  });

  it('does not count waiting background requests against live ones', async () => {
    const semaphore = createTestSemaphore(1, { queuePlacesMax: 4 });
    const free = await semaphore.acquire(1, createCaller());
    const waiting = ['a', 'b'].map((key) => semaphore.acquire(1, createBackgroundCaller(key)));
    await assert.rejects(semaphore.acquire(1, createBackgroundCaller('c')), { kind: 'overloaded' });
    const live = ['a', 'b', 'a', 'b'].map((key) => semaphore.acquire(1, createCaller(key)));
    await assert.rejects(semaphore.acquire(1, createCaller('c')), { kind: 'overloaded' });
    free();
    for (const each of [...live, ...waiting]) (await each)();
  });

  it('serves reserved requests first, with their own queue limit and a longer wait', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const semaphore = createTestSemaphore(1, { queuePlacesMax: 2, queueWaitMsMax: 5 });
    const reserved = () => ({
      owner: { workspace: 'w', key: 'r', priority: 'reserved' as const },
      signal: new AbortController().signal,
    });
    const order: string[] = [];
    const free = await semaphore.acquire(1, createCaller());
    const live = ['a', 'b'].map((key) => semaphore.acquire(1, createCaller(key)));
    await assert.rejects(semaphore.acquire(1, createCaller('c')), { kind: 'overloaded' });
    const reservedPermit = semaphore.acquire(1, reserved()).then((give) => (order.push('reserved'), give));
    const tooLong = live.map((each) => assert.rejects(each, { kind: 'overloaded' }, 'they waited for too long'));
    t.mock.timers.tick(5);
    await Promise.all(tooLong);
    const later = assert.rejects(semaphore.acquire(1, createCaller()), { kind: 'overloaded' }, 'a later one did, too');
    t.mock.timers.tick(5);
    await later;
    const late = semaphore.acquire(1, createCaller()).then((give) => (order.push('live'), give));
    free();
    (await reservedPermit)();
    (await late)();
    assert.deepEqual(order, ['reserved', 'live']);
  });

  it('lets a background request wait longer', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const semaphore = createTestSemaphore(1, { queueWaitMsMax: 5 });
    const free = await semaphore.acquire(1, createCaller());
    const background = semaphore.acquire(1, createBackgroundCaller());
    const refused = assert.rejects(semaphore.acquire(1, createCaller()), { kind: 'overloaded' });
    t.mock.timers.tick(5);
    await refused;
    free();
    (await background)();
  });
});
