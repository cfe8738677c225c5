import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { detectLanguage } from './detect-language.ts';
import { findLanguage, LANGUAGES, suggestLanguages } from './languages.ts';

describe('languages', () => {
  it('are 92 with distinct names and codes, and the smallest model accepts 31', () => {
    assert.equal(LANGUAGES.length, 92);
    assert.equal(new Set(LANGUAGES.map(({ name }) => name)).size, 92);
    assert.equal(new Set(LANGUAGES.map(({ code }) => code)).size, 92);
    assert.equal(LANGUAGES.filter(({ code }) => findLanguage(code, 'lite')).length, 31);
  });

  it('are found by name or code in any case', () => {
    for (const name of ['English', 'ENGLISH', 'en', ' En ']) assert.equal(findLanguage(name, 'all')?.code, 'en', name);
    assert.equal(findLanguage('zh-TW', 'all')?.name, 'Traditional Chinese');
    assert.equal(findLanguage("ta'izzi-adeni arabic", 'all')?.code, 'acq');
    assert.equal(findLanguage('auto', 'all'), undefined);
    assert.equal(findLanguage('Welsh', 'lite'), undefined);
    assert.deepEqual(
      [
        findLanguage('Persian', 'lite')?.code,
        findLanguage('Persian', 'all'),
        findLanguage('Western Persian', 'all')?.code,
      ],
      ['fa', undefined, 'fa'],
    );
  });

  it('are found by their own name', () => {
    for (const [name, code] of [
      ['中文', 'zh'],
      ['简体中文', 'zh'],
      ['繁體中文', 'zh_tw'],
      ['粤语', 'yue'],
      ['Deutsch', 'de'],
      ['deutsch', 'de'],
      ['Français', 'fr'],
      ['español', 'es'],
      ['日本語', 'ja'],
      ['한국어', 'ko'],
      ['русский', 'ru'],
      ['العربية', 'ar'],
      ['ไทย', 'th'],
    ] as const)
      assert.equal(findLanguage(name, 'all')?.code, code, name);
  });

  it('suggests known languages for an unknown one', () => {
    assert.deepEqual(suggestLanguages('Frensh', 'all'), ['French']);
    assert.deepEqual(suggestLanguages('Norwegian', 'all'), ['Norwegian Bokmal', 'Norwegian Nynorsk']);
    assert.deepEqual(suggestLanguages('en-US', 'all').slice(0, 1), ['English']);
    assert.deepEqual(suggestLanguages('Klingon', 'all'), []);
    assert.deepEqual(suggestLanguages('', 'all'), []);
    assert.deepEqual(suggestLanguages('x'.repeat(100_000), 'all'), []);
  });

  it('are detected, with undefined for an unclear text', async () => {
    for (const [text, code] of [
      ['The engineer repaired the bridge before the storm came.', 'en'],
      ['Der Ingenieur hat die Brücke vor dem Sturm repariert.', 'de'],
      ['工程师在暴风雨来临之前修好了桥。', 'zh'],
      ['', undefined],
      ['12 34', undefined],
      ['Hi!', undefined],
      ['Jeg er trett fordi jeg har jobbet hele natten.', 'nb'],
    ] as const)
      assert.equal((await detectLanguage(text))?.code, code, text);
  });

  it('are detected from prose, not from markup, URLs and code', async () => {
    for (const [text, code] of [
      ['<div class="container"><p>Hallo Welt</p></div>', 'de'],
      ['Lauf `npm install --save-dev typescript` jetzt', 'de'],
      ['```\nconsole.log("This is the main function of this program");\n```\nDas ist der Quelltext.', 'de'],
      ['请运行 `npm run build` 然后打开 https://example.com/docs/index', 'zh'],
      ['https://example.com', undefined],
    ] as const)
      assert.equal((await detectLanguage(text))?.code, code, text);
  });
});
