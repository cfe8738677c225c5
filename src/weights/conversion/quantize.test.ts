import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BLOCK, ZERO, quantize } from './quantize.ts';

const back = ({ codes, scales }: ReturnType<typeof quantize>): number[] =>
  Array.from(codes, (code, at) => (code - ZERO) * (scales[Math.floor(at / BLOCK)] ?? 0));

test('values come back within half a step of their own block, the largest one whole', () => {
  const values = Float32Array.from({ length: 3 * BLOCK }, (_, at) => Math.sin(at) * 10 ** (Math.floor(at / BLOCK) - 1));
  const quantized = quantize(values);
  assert.equal(quantized.scales.length, 3);
  for (const [at, value] of back(quantized).entries()) {
    const step = quantized.scales[Math.floor(at / BLOCK)] ?? 0;
    assert.ok(Math.abs(value - (values[at] ?? 0)) <= step / 2 + 1e-6, `${at}: ${value} for ${values[at]}`);
  }
});

test('a block of zeros stays one', () => {
  assert.deepEqual(new Set(back(quantize(new Float32Array(BLOCK)))), new Set([0]));
});
