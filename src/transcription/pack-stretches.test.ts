import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createStretchPacking } from './pack-stretches.ts';

const packed = (...stretches: readonly (readonly [number, number])[]): number[][] => {
  const packing = createStretchPacking({ longest: 100, gap: 20 });
  const windows = stretches.flatMap(([begin, end]) => packing.push({ begin, end }));
  return [...windows, ...packing.finish()].map(({ begin, end }) => [begin, end]);
};

test('stretches that fit together are one window', () => {
  assert.deepEqual(packed([0, 40], [50, 90]), [[0, 90]]);
});

test('one that does not fit any more begins the next window', () => {
  assert.deepEqual(packed([0, 40], [50, 90], [95, 110]), [
    [0, 90],
    [95, 110],
  ]);
});

test('a long silence is in no window', () => {
  assert.deepEqual(packed([0, 10], [31, 40]), [
    [0, 10],
    [31, 40],
  ]);
});

test('where nobody speaks, there is no window', () => {
  assert.deepEqual(packed(), []);
});
