import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { alignRows } from './align-rows.ts';
import { computeTokenTimes } from './compute-token-times.ts';
import { ENCODER_FRAMES } from './whisper-model.ts';

describe('alignRows', () => {
  it('finds the path with the largest sum', () => {
    const worth = Float64Array.from(
      [
        [5, 5, -1, -1, -1, -1],
        [-1, -1, 5, -1, -1, -1],
        [-1, -1, -1, 5, 5, 5],
      ].flat(),
    );
    assert.deepEqual(alignRows(worth, { rows: 3, columns: 6 }), [0, 2, 3]);
  });

  it('returns columns in ascending order', () => {
    const worth = Float64Array.from(
      [
        [0, 0, 0, 9],
        [9, 0, 0, 0],
      ].flat(),
    );
    const [first = -1, second = -1] = alignRows(worth, { rows: 2, columns: 4 });
    assert.ok(first <= second);
  });

  it('accepts more rows than columns', () => {
    assert.deepEqual(alignRows(new Float64Array(3), { rows: 3, columns: 1 }), [0, 0, 0]);
  });
});

describe('computeTokenTimes', () => {
  /** Attention of two heads to these frames, with a little attention to all others. */
  const createAttention = (from: number, to: number): Float32Array =>
    Float32Array.from({ length: 2 * ENCODER_FRAMES }, (_, i) =>
      i % ENCODER_FRAMES >= from && i % ENCODER_FRAMES < to ? 0.1 : 0.001,
    );

  it('returns the frame where the attention to each token starts', () => {
    const times = computeTokenTimes(
      [createAttention(0, 20), createAttention(20, 50), createAttention(50, 60), createAttention(60, 100)],
      100,
    );
    assert.deepEqual(times, [0, 20, 50, 60]);
  });

  it('ignores outliers of a single frame', () => {
    const rows = () => [createAttention(0, 20), createAttention(40, 60), createAttention(60, 100)];
    const flickering = rows();
    for (const frame of [25, ENCODER_FRAMES + 25]) (flickering[1] ?? new Float32Array(0))[frame] = 0.5;
    assert.deepEqual(computeTokenTimes(flickering, 100), computeTokenTimes(rows(), 100));
  });
});
