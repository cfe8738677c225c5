import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { scalePropertyRuns } from '../../test/property-runs.ts';
import { createSharedSemaphore, type SharedSemaphoreOptions } from './shared-semaphore.ts';

/** Lets all settled promises run. */
const yieldToEventLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const createTestSemaphore = (
  options: Partial<SharedSemaphoreOptions> & { permits: number; permitsPerHolder: number },
) =>
  createSharedSemaphore({
    queueLengthMax: 100,
    createQueueFullError: (isShare) => new Error(isShare ? 'share full' : 'full'),
    ...options,
  });

describe('createSharedSemaphore', () => {
  it('leaves a permit to a newcomer, however many tasks of another holder wait', async () => {
    const semaphore = createTestSemaphore({ permits: 3, permitsPerHolder: 2 });
    const granted: string[] = [];
    const acquire = async (holder: string): Promise<() => void> => {
      const release = await semaphore.acquire(holder);
      granted.push(holder);
      return release;
    };
    const first = acquire('a');
    for (let task = 0; task < 20; task += 1) void acquire('a');
    await acquire('b');
    assert.deepEqual(granted, ['a', 'a', 'b']);
    (await first)();
    await yieldToEventLoop();
    assert.deepEqual(granted, ['a', 'a', 'b', 'a']);
  });

  it('serves holders in turns with a single permit', async () => {
    const semaphore = createTestSemaphore({ permits: 1, permitsPerHolder: 1 });
    const granted: string[] = [];
    const tasks = ['a1', 'a2', 'a3', 'b1', 'b2', 'c1'].map(async (name) => {
      const release = await semaphore.acquire(name.slice(0, 1));
      granted.push(name);
      await yieldToEventLoop();
      release();
    });
    await Promise.all(tasks);
    assert.equal(granted.join(' '), 'a1 b1 c1 a2 b2 a3');
  });

  it('refuses a holder beyond its half of the queue, and everybody when the queue is full', async () => {
    const semaphore = createTestSemaphore({ permits: 2, permitsPerHolder: 1, queueLengthMax: 4 });
    const acquire = (holder: string): Promise<() => void> => semaphore.acquire(holder);
    const first = acquire('a');
    for (const holder of ['a', 'a']) void acquire(holder);
    await assert.rejects(acquire('a'), { message: 'share full' });
    for (const holder of ['b', 'b', 'b']) void acquire(holder);
    await assert.rejects(acquire('c'), { message: 'full' });
    (await first)();
    const other = acquire('c');
    await assert.rejects(acquire('c'), { message: 'full' });
    void other;
  });

  it('grants several permits at once, in the order of the tasks of a holder', async () => {
    const semaphore = createTestSemaphore({ permits: 10, permitsPerHolder: 4 });
    const granted: string[] = [];
    const acquire = async (name: string, count: number): Promise<() => void> => {
      const release = await semaphore.acquire(name.slice(0, 1), undefined, count);
      granted.push(name);
      return release;
    };
    const first = acquire('a1', 3);
    const others = [acquire('a2', 4), acquire('a3', 1), acquire('b1', 4), acquire('c1', 4)];
    await yieldToEventLoop();
    assert.deepEqual(granted, ['a1', 'b1'], 'c1 has to wait for permits of all, a2 and a3 for those of a');
    (await first)();
    await yieldToEventLoop();
    assert.deepEqual(granted, ['a1', 'b1', 'c1'], 'a2 waits behind c1');
    (await others[2])?.();
    (await others[0])?.();
    await yieldToEventLoop();
    assert.deepEqual(granted, ['a1', 'b1', 'c1', 'a2', 'a3']);
  });

  it('keeps a reserve for holders that have few permits, although the queue is full of tasks of others', async () => {
    const reserve = { permits: 4, permitsPerHolder: 2 };
    const semaphore = createTestSemaphore({ permits: 12, permitsPerHolder: 8, queueLengthMax: 8, reserve });
    const held = await Promise.all([semaphore.acquire('a', undefined, 4), semaphore.acquire('a', undefined, 4)]);
    let grantedCount = 0;
    const waiting = Array.from({ length: 8 }, async (_, i) => {
      await semaphore.acquire(i % 2 === 0 ? 'a' : 'b', undefined, 3);
      grantedCount += 1;
    });
    for (const newcomer of ['c', 'd']) await semaphore.acquire(newcomer, undefined, 2);
    assert.equal(grantedCount, 0);
    for (const release of held) release();
    await yieldToEventLoop();
    assert.equal(grantedCount, 1, 'beside the reserve, 8 permits may be taken');
    void waiting;
  });

  it('serves a task that may use the reserve before those that may not', async () => {
    const reserve = { permits: 4, permitsPerHolder: 2 };
    const semaphore = createTestSemaphore({ permits: 12, permitsPerHolder: 12, reserve });
    const large = await semaphore.acquire('a', undefined, 8);
    const small = await semaphore.acquire('b', undefined, 2);
    await semaphore.acquire('c', undefined, 2);
    const granted: string[] = [];
    const acquire = (holder: string, count: number): unknown =>
      semaphore.acquire(holder, undefined, count).then(() => granted.push(holder));
    acquire('d', 3);
    acquire('e', 1);
    small();
    await yieldToEventLoop();
    assert.deepEqual(granted, ['e']);
    large();
    await yieldToEventLoop();
    assert.deepEqual(granted, ['e', 'd']);
  });

  it('serves a newcomer at once if permits are free, although the queue is full', async () => {
    const semaphore = createTestSemaphore({ permits: 2, permitsPerHolder: 1, queueLengthMax: 2 });
    const first = semaphore.acquire('a');
    const second = semaphore.acquire('a');
    await assert.rejects(semaphore.acquire('a'), { message: 'share full' });
    const newcomer = semaphore.acquire('b');
    const third = semaphore.acquire('b');
    await assert.rejects(semaphore.acquire('b'), { message: 'full' });
    for (const acquired of [newcomer, first, second, third]) (await acquired)();
  });

  it('grants every permit again after all releases and aborts', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ holder: fc.constantFrom('a', 'b', 'c'), aborts: fc.boolean() }), { maxLength: 30 }),
        async (tasks) => {
          const semaphore = createTestSemaphore({ permits: 2, permitsPerHolder: 1, queueLengthMax: 10 });
          let running = 0;
          await Promise.all(
            tasks.map(async ({ holder, aborts }) => {
              const abort = new AbortController();
              const acquired = semaphore.acquire(holder, abort.signal);
              if (aborts) abort.abort(new Error('gone'));
              try {
                const release = await acquired;
                running += 1;
                assert.ok(running <= 2);
                await yieldToEventLoop();
                running -= 1;
                release();
                release();
              } catch (error) {
                assert.match(String(error), /gone|full/);
              }
            }),
          );
          await Promise.all([semaphore.acquire('a'), semaphore.acquire('b')]);
        },
      ),
      { numRuns: scalePropertyRuns(100) },
    );
  });
});
