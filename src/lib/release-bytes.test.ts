import assert from 'node:assert/strict';
import { test } from 'node:test';
import { releaseBytes } from './release-bytes.ts';

test('empties an array that has its own buffer', () => {
  const piece = Buffer.allocUnsafeSlow(65_536);
  releaseBytes(piece);
  assert.equal(piece.byteLength, 0);
});

test('keeps a buffer that other arrays may share', () => {
  const whole = Buffer.alloc(100, 7);
  const pooled = Buffer.from('pooled');
  for (const piece of [whole.subarray(1), whole.subarray(0, 99), pooled]) releaseBytes(piece);
  assert.deepEqual([whole.length, whole[99], pooled.toString()], [100, 7, 'pooled']);
});
