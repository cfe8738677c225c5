import assert from 'node:assert/strict';
import { test } from 'node:test';
import { releaseBytes } from './release-bytes.ts';

test('a piece with memory of its own is empty afterwards', () => {
  const piece = Buffer.allocUnsafeSlow(65_536);
  releaseBytes(piece);
  assert.equal(piece.byteLength, 0);
});

test('memory that others use too stays', () => {
  const whole = Buffer.alloc(100, 7);
  const pooled = Buffer.from('pooled');
  for (const piece of [whole.subarray(1), whole.subarray(0, 99), pooled]) releaseBytes(piece);
  assert.deepEqual([whole.length, whole[99], pooled.toString()], [100, 7, 'pooled']);
});
