import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findNearNames } from './find-near-names.ts';

const NAMES = ['qwen3-4b', 'qwen3-8b', 'qwen3-coder-30b-a3b', 'svc-plus', 'whisper-base'];

test('finds names that differ in punctuation, case or a letter, the most similar first', () => {
  assert.deepEqual(findNearNames('qwen3:8b', NAMES).slice(0, 2), ['qwen3-8b', 'qwen3-4b']);
  assert.deepEqual(findNearNames('SVC_Plus', NAMES), ['svc-plus']);
  assert.deepEqual(findNearNames('wisper-base', NAMES), ['whisper-base']);
});

test('finds names of which the wanted one is a part, and at most the given number', () => {
  assert.deepEqual(findNearNames('coder', NAMES), ['qwen3-coder-30b-a3b']);
  assert.equal(findNearNames('qwen3', NAMES, 2).length, 2);
});

test('finds nothing for a name without common letters, and for an empty one', () => {
  assert.deepEqual(findNearNames('mistral', NAMES), []);
  assert.deepEqual(findNearNames('', NAMES), []);
});
