import assert from 'node:assert/strict';
import { test } from 'node:test';
import { present } from './present.ts';

test('null and undefined are absent, false, 0 and the empty string are not', () => {
  assert.deepEqual(present({ a: null, b: undefined, c: 0, d: false, e: '' }), { c: 0, d: false, e: '' });
});
