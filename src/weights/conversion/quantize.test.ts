import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BLOCK_SIZE, ZERO_CODE, quantize } from './quantize.ts';

const back = ({ codes, scales }: ReturnType<typeof quantize>): number[] =>
  Array.from(codes, (code, at) => (code - ZERO_CODE) * (scales[Math.floor(at / BLOCK_SIZE)] ?? 0));

test('restores values within half a step of their block, and the largest value exactly', () => {
  const values = Float32Array.from(
    { length: 3 * BLOCK_SIZE },
    (_, at) => Math.sin(at) * 10 ** (Math.floor(at / BLOCK_SIZE) - 1),
  );
  const quantized = quantize(values);
  assert.equal(quantized.scales.length, 3);
  for (const [at, value] of back(quantized).entries()) {
    const step = quantized.scales[Math.floor(at / BLOCK_SIZE)] ?? 0;
    assert.ok(Math.abs(value - (values[at] ?? 0)) <= step / 2 + 1e-6, `${at}: ${value} for ${values[at]}`);
  }
});

test('keeps a block of zeros', () => {
  assert.deepEqual(new Set(back(quantize(new Float32Array(BLOCK_SIZE)))), new Set([0]));
});
