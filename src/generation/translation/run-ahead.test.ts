import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { runAhead } from './run-ahead.ts';

describe('work ahead of its turn', () => {
  it('is begun so many items before, and each once', async () => {
    const begun: number[] = [];
    const work = (item: number): Promise<number> => {
      begun.push(item);
      return Promise.resolve(item * 10);
    };
    const items = runAhead([1, 2, 3, 4], { ahead: 1, work });
    assert.equal(await items.at(0), 10);
    assert.deepEqual(begun, [1, 2]);
    assert.equal(await items.at(1), 20);
    assert.equal(await items.at(2), 30);
    assert.equal(await items.at(3), 40);
    assert.deepEqual(begun, [1, 2, 3, 4]);
    await assert.rejects(items.at(4), RangeError);
  });

  it('that failed is done again in its turn, and fails then', async () => {
    const begun: number[] = [];
    const work = (item: number): Promise<number> => {
      begun.push(item);
      return item === 2 && begun.length < 3 ? Promise.reject(new Error('busy')) : Promise.resolve(item);
    };
    const items = runAhead([1, 2], { ahead: 1, work });
    await items.at(0);
    assert.equal(await items.at(1), 2);
    assert.deepEqual(begun, [1, 2, 2]);
    const failing = runAhead([1], { ahead: 1, work: () => Promise.reject(new Error('broken')) });
    await assert.rejects(failing.at(0), /broken/);
  });
});
