import assert from 'node:assert/strict';
import { test } from 'node:test';
import { filterSupportedLanguages } from './filter-supported-languages.ts';

test('keeps the requested languages that the model supports', () => {
  assert.deepEqual(filterSupportedLanguages(['en', 'xx', 'zh', 'en'], ['zh', 'en']), ['en', 'zh']);
  assert.deepEqual(filterSupportedLanguages(['xx'], ['zh', 'en']), []);
  assert.deepEqual(filterSupportedLanguages([], ['zh', 'en']), []);
});

test('replaces Cantonese by Chinese if the model does not distinguish them', () => {
  assert.deepEqual(filterSupportedLanguages(['zh', 'yue'], ['zh', 'en']), ['zh']);
  assert.deepEqual(filterSupportedLanguages(['yue'], ['zh', 'yue']), ['yue']);
  assert.deepEqual(filterSupportedLanguages(['yue'], ['en']), []);
});
