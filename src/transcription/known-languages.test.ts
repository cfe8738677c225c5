import assert from 'node:assert/strict';
import { test } from 'node:test';
import { knownLanguages } from './known-languages.ts';

test('of the languages that are asked for those remain that the model knows', () => {
  assert.deepEqual(knownLanguages(['en', 'xx', 'zh', 'en'], ['zh', 'en']), ['en', 'zh']);
  assert.deepEqual(knownLanguages(['xx'], ['zh', 'en']), []);
  assert.deepEqual(knownLanguages([], ['zh', 'en']), []);
});

test('Cantonese is Chinese to a model that does not tell them apart', () => {
  assert.deepEqual(knownLanguages(['zh', 'yue'], ['zh', 'en']), ['zh']);
  assert.deepEqual(knownLanguages(['yue'], ['zh', 'yue']), ['yue']);
  assert.deepEqual(knownLanguages(['yue'], ['en']), []);
});
