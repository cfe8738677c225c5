import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { LineResult } from '../../../core/batch.ts';
import { BATCH_GROUP_RESULTS_MAX } from '../../../core/limits.ts';
import { createResultGroup } from './result-group.ts';

const result = (line: number, json = ''): LineResult => ({ line, kind: 'output', json });

describe('results on their way to the store', () => {
  it('go together, in their order, with the last ones at the end', async () => {
    const written: number[][] = [];
    const group = createResultGroup(async (results) => void written.push(results.map(({ line }) => line)));
    const lines = Array.from({ length: BATCH_GROUP_RESULTS_MAX + 2 }, (_, at) => at);
    for (const line of lines) await group.add(result(line));
    await group.flush();
    assert.deepEqual(written, [lines.slice(0, -2), lines.slice(-2)]);
    await group.flush();
    assert.equal(written.length, 2);
  });

  it('go at once where they are large, and by themselves where nobody adds to them', async () => {
    const { promise: last, resolve } = Promise.withResolvers<void>();
    let count = 0;
    const group = createResultGroup(async () => {
      count += 1;
      if (count === 2) resolve();
    });
    await group.add(result(1, 'x'.repeat(2 * 1024 * 1024)));
    assert.equal(count, 1);
    await group.add(result(2));
    await last;
  });

  it('are not taken any more once some could not be written', async () => {
    const written: number[] = [];
    const group = createResultGroup(async (results) => {
      if (results.some(({ line }) => line === 1)) throw new Error('disk');
      written.push(...results.map(({ line }) => line));
    });
    await group.add(result(1));
    await assert.rejects(group.flush(), /disk/);
    await group.add(result(2)).catch(() => undefined);
    await assert.rejects(group.flush(), /disk/);
    assert.deepEqual(written, []);
  });
});
