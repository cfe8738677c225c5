import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createBatchQueue } from './batch-queue.ts';

describe('createBatchQueue', () => {
  it('yields all waiting items as one batch, in order, and then ends', async () => {
    const queue = createBatchQueue<number>({ waitingMax: 10 });
    for (const item of [1, 2, 3]) queue.push(item);
    queue.end();
    assert.deepEqual(await Array.fromAsync(queue), [[1, 2, 3]]);
  });

  it('keeps all items and their order, whenever the reader reads', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(fc.integer(), { maxLength: 5 })), fc.scheduler(), async (bursts, s) => {
        const queue = createBatchQueue<number>({ waitingMax: 3 });
        const read = (async () => {
          const seen: number[] = [];
          for await (const batch of queue) {
            assert.ok(batch.length > 0);
            seen.push(...batch);
            await s.schedule(Promise.resolve(), 'reader');
          }
          return seen;
        })();
        const write = (async () => {
          for (const burst of bursts) {
            for (const item of burst) queue.push(item);
            await s.schedule(Promise.resolve(), 'writer');
          }
          queue.end();
        })();
        await s.waitFor(Promise.all([write, read]));
        assert.deepEqual(await read, bursts.flat());
      }),
    );
  });

  it('reports when it is full, and calls onDrain once when it is empty again', async () => {
    let drained = 0;
    const queue = createBatchQueue<number>({ waitingMax: 2, onDrain: () => drained++ });
    assert.deepEqual([queue.push(1), queue.push(2), queue.push(3)], [true, false, false]);
    assert.equal(drained, 0);
    const reader = queue[Symbol.asyncIterator]();
    assert.deepEqual(await reader.next(), { done: false, value: [1, 2, 3] });
    assert.equal(drained, 1);
    assert.equal(queue.push(4), true);
    await reader.next();
    assert.equal(drained, 1);
  });

  it('yields waiting items before it rejects', async () => {
    const queue = createBatchQueue<number>({ waitingMax: 2 });
    queue.push(1);
    queue.fail(new Error('broken'));
    queue.fail(new Error('a later one'));
    const reader = queue[Symbol.asyncIterator]();
    assert.deepEqual((await reader.next()).value, [1]);
    await assert.rejects(reader.next(), /broken/);
  });

  it('wakes a waiting reader for an item, the end and a failure', async () => {
    for (const [wake, result] of [
      [(queue: ReturnType<typeof createBatchQueue<number>>) => queue.push(1), [[1]]],
      [(queue: ReturnType<typeof createBatchQueue<number>>) => queue.end(), []],
    ] as const) {
      const queue = createBatchQueue<number>({ waitingMax: 2 });
      const read = Array.fromAsync(queue);
      await Promise.resolve();
      wake(queue);
      queue.end();
      assert.deepEqual(await read, result);
    }
    const failing = createBatchQueue<number>({ waitingMax: 2 });
    const read = Array.fromAsync(failing);
    failing.fail(new Error('broken'));
    await assert.rejects(read, /broken/);
  });

  it('calls onReaderLeft once when the reader leaves before the end, but not after it', async () => {
    let left = 0;
    const queue = createBatchQueue<number>({ waitingMax: 2, onReaderLeft: () => left++ });
    queue.push(1);
    for await (const batch of queue) if (batch.length > 0) break;
    assert.equal(left, 1);
    assert.equal(queue.push(2), true, 'later items are dropped');
    const ended = createBatchQueue<number>({ waitingMax: 2, onReaderLeft: () => left++ });
    ended.end();
    await ended[Symbol.asyncIterator]().return?.();
    assert.equal(left, 1);
  });

  it('allows only one reader', () => {
    const queue = createBatchQueue<number>({ waitingMax: 2 });
    queue[Symbol.asyncIterator]();
    assert.throws(() => queue[Symbol.asyncIterator](), /one reader/);
  });
});
