import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { questionTermsOf, termsOf, wordCountOf } from './terms.ts';

describe('the terms of a text', () => {
  const cases: readonly [string, readonly string[]][] = [
    ['The Whales SWIM', ['the', 'whale', 'swim']],
    ['Élève naïve, straße! Ærø', ['eleve', 'naive', 'strasse', 'aero']],
    ['cities boxes glasses bus class series', ['city', 'boxe', 'glasse', 'bus', 'class', 'sery']],
    ['x.y_z-1 v2.0', ['x', 'y', 'z', '1', 'v2', '0']],
    ['ｆｕｌｌ ①', ['full', '1']],
    ['Ωμέγα Ёлка', ['ωμεγα', 'елка']],
    ['東京', ['東', '京', '東京']],
    ['鯨', ['鯨']],
    ['サーバー', ['サ', 'ー', 'バ', 'ー', 'サー', 'ーバ', 'バー']],
    ['한국어', ['한', '국', '어', '한국', '국어']],
    ['GPT4模型', ['gpt4', '模', '型', '模型']],
    ['กำลัง', ['กำลัง'.normalize('NFKC')]],
    ['" OR * NEAR( :', ['or', 'near']],
    ['', []],
  ];
  for (const [text, terms] of cases) {
    it(`of ${JSON.stringify(text)}`, () => assert.deepEqual(termsOf(text), terms));
  }

  it('are letters and digits alone, of a bounded length', () => {
    const text = Array.from({ length: 0x3000 }, (_, at) => String.fromCharCode(at)).join('');
    for (const term of termsOf(text)) assert.match(term, /^[\p{L}\p{M}\p{N}]+$/u);
    assert.equal(termsOf('x'.repeat(500))[0]?.length, 40);
  });
});

describe('the terms of a question', () => {
  it('are each there once, without words that every text has', () => {
    assert.deepEqual(questionTermsOf('What is the whale and where do whales sleep?'), ['whale', 'sleep']);
    assert.deepEqual(questionTermsOf('who is this'), ['who', 'is', 'thi']);
  });
  it('are pairs of unspaced writing, and one character where there is no more', () => {
    assert.deepEqual(questionTermsOf('东京首都'), ['东京', '京首', '首都']);
    assert.deepEqual(questionTermsOf('水'), ['水']);
  });
  it('are what a text is found by', () => {
    for (const text of ['Running servers’ queues', '新しいサーバー', '서버를 시작', 'ÉCOLES 3 v1.2']) {
      const own = new Set(termsOf(text));
      for (const term of questionTermsOf(text)) assert.ok(own.has(term), term);
    }
  });
});

describe('the words of a text', () => {
  it('are counted, two characters of unspaced writing as one', () => {
    assert.equal(wordCountOf('three short words'), 3);
    assert.equal(wordCountOf('东京首都'), 2);
    assert.equal(wordCountOf('GPT4模型'), 2);
    assert.equal(wordCountOf(' .,'), 0);
  });
});
