import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createPrefetcher } from './prefetcher.ts';

describe('createPrefetcher', () => {
  it('starts each item once, ahead of its request', async () => {
    const started: number[] = [];
    const work = (item: number): Promise<number> => {
      started.push(item);
      return Promise.resolve(item * 10);
    };
    const items = createPrefetcher([1, 2, 3, 4], { ahead: 1, work });
    assert.equal(await items.get(0), 10);
    assert.deepEqual(started, [1, 2]);
    assert.equal(await items.get(1), 20);
    assert.equal(await items.get(2), 30);
    assert.equal(await items.get(3), 40);
    assert.deepEqual(started, [1, 2, 3, 4]);
    await assert.rejects(items.get(4), RangeError);
  });

  it('repeats failed prefetched work on request, and passes on its failure', async () => {
    const started: number[] = [];
    const work = (item: number): Promise<number> => {
      started.push(item);
      return item === 2 && started.length < 3 ? Promise.reject(new Error('busy')) : Promise.resolve(item);
    };
    const items = createPrefetcher([1, 2], { ahead: 1, work });
    await items.get(0);
    assert.equal(await items.get(1), 2);
    assert.deepEqual(started, [1, 2, 2]);
    const failing = createPrefetcher([1], { ahead: 1, work: () => Promise.reject(new Error('broken')) });
    await assert.rejects(failing.get(0), /broken/);
  });
});
