import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listPartFiles, parsePartName } from './split-model-file.ts';

test('lists the parts of a split file in order, and a whole file as its only part', () => {
  assert.deepEqual(listPartFiles('Q4/m-00001-of-00002.gguf'), ['Q4/m-00001-of-00002.gguf', 'Q4/m-00002-of-00002.gguf']);
  assert.deepEqual(listPartFiles('m.gguf'), ['m.gguf']);
});

test('parses the name of a part', () => {
  assert.deepEqual(parsePartName('a/m-00002-of-00012.gguf'), { stem: 'a/m', part: 2, count: 12 });
  assert.equal(parsePartName('m-2-of-3.gguf'), undefined);
});
