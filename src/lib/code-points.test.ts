import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countCodePoints } from './code-points.ts';

test('a pair of surrogates is one character, and so is half of one', () => {
  for (const text of ['', 'abc', '漢字', '🔑a🔑', '\ud800', 'a\udc00\ud800'])
    assert.equal(countCodePoints(text), [...text].length, JSON.stringify(text));
});
