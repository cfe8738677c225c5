import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { warpTimes } from './time-warp.ts';
import { tokenTimes } from './token-times.ts';
import { FRAMES } from './whisper-model.ts';

describe('dynamic time warping', () => {
  it('finds the way that collects the most, and tells where each row begins', () => {
    const worth = Float64Array.from(
      [
        [5, 5, -1, -1, -1, -1],
        [-1, -1, 5, -1, -1, -1],
        [-1, -1, -1, 5, 5, 5],
      ].flat(),
    );
    assert.deepEqual(warpTimes(worth, { rows: 3, columns: 6 }), [0, 2, 3]);
  });

  it('goes forward only: what was seen later than its neighbour comes later', () => {
    const worth = Float64Array.from(
      [
        [0, 0, 0, 9],
        [9, 0, 0, 0],
      ].flat(),
    );
    const [first = -1, second = -1] = warpTimes(worth, { rows: 2, columns: 4 });
    assert.ok(first <= second);
  });

  it('puts more rows than columns somewhere', () => {
    assert.deepEqual(warpTimes(new Float64Array(3), { rows: 3, columns: 1 }), [0, 0, 0]);
  });
});

describe('the times of tokens', () => {
  /** Rows of two heads that look at these frames, and a little everywhere. */
  const looking = (from: number, to: number): Float32Array =>
    Float32Array.from({ length: 2 * FRAMES }, (_, i) => (i % FRAMES >= from && i % FRAMES < to ? 0.1 : 0.001));

  it('are where the decoder looked for each', () => {
    const times = tokenTimes([looking(0, 20), looking(20, 50), looking(50, 60), looking(60, 100)], 100);
    assert.deepEqual(times, [0, 20, 50, 60]);
  });

  it('do not change by what flickers for a frame', () => {
    const rows = () => [looking(0, 20), looking(40, 60), looking(60, 100)];
    const flickering = rows();
    for (const frame of [25, FRAMES + 25]) (flickering[1] ?? new Float32Array(0))[frame] = 0.5;
    assert.deepEqual(tokenTimes(flickering, 100), tokenTimes(rows(), 100));
  });
});
