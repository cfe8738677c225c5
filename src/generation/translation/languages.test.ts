import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { detectLanguage } from './detect-language.ts';
import { findLanguage, LANGUAGES, nearLanguages } from './languages.ts';

describe('languages', () => {
  it('are 92 with different names and codes, of which the smallest model takes 31', () => {
    assert.equal(LANGUAGES.length, 92);
    assert.equal(new Set(LANGUAGES.map(({ name }) => name)).size, 92);
    assert.equal(new Set(LANGUAGES.map(({ code }) => code)).size, 92);
    assert.equal(LANGUAGES.filter(({ code }) => findLanguage(code, 'lite')).length, 31);
  });

  it('are found by name or code in any case', () => {
    for (const asked of ['English', 'ENGLISH', 'en', ' En '])
      assert.equal(findLanguage(asked, 'all')?.code, 'en', asked);
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

  it('that are not there have near ones', () => {
    assert.deepEqual(nearLanguages('Frensh', 'all'), ['French']);
    assert.deepEqual(nearLanguages('Norwegian', 'all'), ['Norwegian Bokmal', 'Norwegian Nynorsk']);
    assert.deepEqual(nearLanguages('en-US', 'all').slice(0, 1), ['English']);
    assert.deepEqual(nearLanguages('Klingon', 'all'), []);
    assert.deepEqual(nearLanguages('', 'all'), []);
    assert.deepEqual(nearLanguages('x'.repeat(100_000), 'all'), []);
  });

  it('are detected, or nobody says which', async () => {
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

  it('are detected by what somebody said, not by markup, addresses and code around it', async () => {
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
