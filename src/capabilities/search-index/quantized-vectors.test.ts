import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { findNearestVector, quantizeVector } from './quantized-vectors.ts';

const cosine = (one: Float32Array, other: Float32Array): number => {
  const product = one.reduce((sum, component, at) => sum + component * (other[at] ?? 0), 0);
  return product / (Math.hypot(...one) * Math.hypot(...other));
};

describe('quantized vectors', () => {
  it('keep the cosine similarity to 0.02', () => {
    const component = fc.float({ min: -1, max: 1, noNaN: true });
    const vector = fc.array(component, { minLength: 64, maxLength: 64 }).map((list) => Float32Array.from(list));
    fc.assert(
      fc.property(vector, vector, (one, other) => {
        fc.pre(Math.hypot(...one) > 0.1 && Math.hypot(...other) > 0.1);
        const row = new Uint8Array(quantizeVector(one).buffer);
        const { similarity = 0 } = findNearestVector(row, quantizeVector(other)) ?? {};
        assert.ok(Math.abs(similarity - cosine(one, other)) < 0.02);
      }),
    );
  });

  it('are found by their index in the packed row', () => {
    const vectors = [
      [0, 1],
      [1, 1],
      [1, 0],
    ].map((list) => quantizeVector(Float32Array.from(list)));
    const row = new Uint8Array(vectors.flatMap((each) => [...new Uint8Array(each.buffer)]));
    assert.deepEqual(
      [
        [0, 5],
        [3, 3],
        [0.1, 0],
      ].map((wanted) => findNearestVector(row, quantizeVector(Float32Array.from(wanted)))?.at),
      [0, 1, 2],
    );
    assert.equal(findNearestVector(row.subarray(0, 1), quantizeVector(Float32Array.of(1, 0))), undefined);
    assert.equal(findNearestVector(row, new Int8Array(0)), undefined);
    assert.equal(findNearestVector(row, quantizeVector(Float32Array.of(0, 0)))?.similarity, 0);
  });
});
