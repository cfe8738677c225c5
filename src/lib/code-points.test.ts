import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countCodePoints } from './code-points.ts';

test('countCodePoints counts a surrogate pair as one, and a lone surrogate as one', () => {
  for (const text of ['', 'abc', '漢字', '🔑a🔑', '\ud800', 'a\udc00\ud800'])
    assert.equal(countCodePoints(text), [...text].length, JSON.stringify(text));
});
