import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { BatchLineResult } from '../../../core/batch.ts';
import { BATCH_GROUP_RESULTS_MAX } from './limits.ts';
import { createResultBuffer } from './result-buffer.ts';

const result = (line: number, json = ''): BatchLineResult => ({ line, kind: 'output', json });

describe('createResultBuffer', () => {
  it('writes results in groups and in order', async () => {
    const written: number[][] = [];
    const buffer = createResultBuffer(async (results) => void written.push(results.map(({ line }) => line)));
    const lines = Array.from({ length: BATCH_GROUP_RESULTS_MAX + 2 }, (_, at) => at);
    for (const line of lines) await buffer.add(result(line));
    await buffer.flush();
    assert.deepEqual(written, [lines.slice(0, -2), lines.slice(-2)]);
    await buffer.flush();
    assert.equal(written.length, 2);
  });

  it('writes large groups at once and small groups after a delay', async () => {
    const { promise: last, resolve } = Promise.withResolvers<void>();
    let count = 0;
    const buffer = createResultBuffer(async () => {
      count += 1;
      if (count === 2) resolve();
    });
    await buffer.add(result(1, 'x'.repeat(2 * 1024 * 1024)));
    assert.equal(count, 1);
    await buffer.add(result(2));
    await last;
  });

  it('rejects later results after a failed write', async () => {
    const written: number[] = [];
    const buffer = createResultBuffer(async (results) => {
      if (results.some(({ line }) => line === 1)) throw new Error('disk');
      written.push(...results.map(({ line }) => line));
    });
    await buffer.add(result(1));
    await assert.rejects(buffer.flush(), /disk/);
    await buffer.add(result(2)).catch(() => undefined);
    await assert.rejects(buffer.flush(), /disk/);
    assert.deepEqual(written, []);
  });
});
