import assert from 'node:assert/strict';
import { it } from 'node:test';
import { getLanguage } from '../__fixtures__/test-translator.ts';
import { staysInSourceLanguage } from './stays-in-source-language.ts';

const check = (source: string, translation: string, from: string, to: string, kept: readonly string[] = []): boolean =>
  staysInSourceLanguage(source, translation, { from: getLanguage(from), to: getLanguage(to), kept });

it('finds a sentence that keeps most words of the source', () => {
  assert.ok(check('The library opens at nine.', 'The library öffnet at nine.', 'English', 'German'));
  assert.ok(check('The library opens at nine.', 'Library opens at nine 点。', 'English', 'Chinese'));
  assert.ok(check('图书馆九点开门。', '图书馆九点开门。', 'Chinese', 'English'));
});

it('accepts names, kept words, short texts and related languages', () => {
  assert.ok(!check('Visit New York City Hall Park', 'Besuchen Sie New York City Hall Park', 'English', 'German'));
  assert.ok(!check('the open source build', 'der open source build', 'English', 'German', ['open source build']));
  assert.ok(!check('Hotel restaurant', 'Hotel restaurant', 'English', 'French'));
  assert.ok(!check('La casa es grande y nueva', 'La casa es grande e nova', 'Spanish', 'Portuguese'));
  assert.ok(!check('The library opens at nine.', 'Die Bibliothek öffnet um neun.', 'English', 'German'));
});
