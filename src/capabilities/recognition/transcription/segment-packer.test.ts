import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSegmentPacker } from './segment-packer.ts';

const pack = (...ranges: readonly (readonly [number, number])[]): number[][] => {
  const packer = createSegmentPacker({ samplesMax: 100, gapSamplesMax: 20 });
  const windows = ranges.flatMap(([begin, end]) => packer.push({ start: begin, end }));
  return [...windows, ...packer.finish()].map(({ start, end }) => [start, end]);
};

test('combines segments that fit into one window', () => {
  assert.deepEqual(pack([0, 40], [50, 90]), [[0, 90]]);
});

test('starts a new window if a segment does not fit', () => {
  assert.deepEqual(pack([0, 40], [50, 90], [95, 110]), [
    [0, 90],
    [95, 110],
  ]);
});

test('includes no long silence in a window', () => {
  assert.deepEqual(pack([0, 10], [31, 40]), [
    [0, 10],
    [31, 40],
  ]);
});

test('returns no window without segments', () => {
  assert.deepEqual(pack(), []);
});
