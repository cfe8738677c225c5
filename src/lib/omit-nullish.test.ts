import assert from 'node:assert/strict';
import { test } from 'node:test';
import { omitNullish } from './omit-nullish.ts';

test('omits null and undefined, keeps false, 0 and the empty string', () => {
  assert.deepEqual(omitNullish({ a: null, b: undefined, c: 0, d: false, e: '' }), { c: 0, d: false, e: '' });
});
