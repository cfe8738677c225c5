import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { nearestIn, toBytes } from './byte-vectors.ts';

const cosine = (one: Float32Array, other: Float32Array): number => {
  const product = one.reduce((sum, component, at) => sum + component * (other[at] ?? 0), 0);
  return product / (Math.hypot(...one) * Math.hypot(...other));
};

describe('vectors in bytes', () => {
  it('have the cosine of the vectors they were made of, to 0.02', () => {
    const component = fc.float({ min: -1, max: 1, noNaN: true });
    const vector = fc.array(component, { minLength: 64, maxLength: 64 }).map((list) => Float32Array.from(list));
    fc.assert(
      fc.property(vector, vector, (one, other) => {
        fc.pre(Math.hypot(...one) > 0.1 && Math.hypot(...other) > 0.1);
        const row = new Uint8Array(toBytes(one).buffer);
        const { similarity = 0 } = nearestIn(row, toBytes(other)) ?? {};
        assert.ok(Math.abs(similarity - cosine(one, other)) < 0.02);
      }),
    );
  });

  it('are told by their place in the row', () => {
    const vectors = [
      [0, 1],
      [1, 1],
      [1, 0],
    ].map((list) => toBytes(Float32Array.from(list)));
    const row = new Uint8Array(vectors.flatMap((each) => [...new Uint8Array(each.buffer)]));
    assert.deepEqual(
      [
        [0, 5],
        [3, 3],
        [0.1, 0],
      ].map((wanted) => nearestIn(row, toBytes(Float32Array.from(wanted)))?.at),
      [0, 1, 2],
    );
    assert.equal(nearestIn(row.subarray(0, 1), toBytes(Float32Array.of(1, 0))), undefined);
    assert.equal(nearestIn(row, new Int8Array(0)), undefined);
    assert.equal(nearestIn(row, toBytes(Float32Array.of(0, 0)))?.similarity, 0);
  });
});
