import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { extractQuestionTerms, extractTerms, countWords } from './terms.ts';

describe('extractTerms', () => {
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
    it(`extracts the terms of ${JSON.stringify(text)}`, () => assert.deepEqual(extractTerms(text), terms));
  }

  it('returns letters and digits only, of bounded length', () => {
    const text = Array.from({ length: 0x3000 }, (_, at) => String.fromCharCode(at)).join('');
    for (const term of extractTerms(text)) assert.match(term, /^[\p{L}\p{M}\p{N}]+$/u);
    assert.equal(extractTerms('x'.repeat(500))[0]?.length, 40);
  });
});

describe('extractQuestionTerms', () => {
  it('returns distinct terms without stop words', () => {
    assert.deepEqual(extractQuestionTerms('What is the whale and where do whales sleep?'), ['whale', 'sleep']);
    assert.deepEqual(extractQuestionTerms('who is this'), ['who', 'is', 'thi']);
  });
  it('returns character pairs of unspaced scripts, or a single character', () => {
    assert.deepEqual(extractQuestionTerms('东京首都'), ['东京', '京首', '首都']);
    assert.deepEqual(extractQuestionTerms('水'), ['水']);
  });
  it('returns terms that extractTerms also returns', () => {
    for (const text of ['Running servers’ queues', '新しいサーバー', '서버를 시작', 'ÉCOLES 3 v1.2']) {
      const textTerms = new Set(extractTerms(text));
      for (const term of extractQuestionTerms(text)) assert.ok(textTerms.has(term), term);
    }
  });
});

describe('countWords', () => {
  it('counts two characters of an unspaced script as one word', () => {
    assert.equal(countWords('three short words'), 3);
    assert.equal(countWords('东京首都'), 2);
    assert.equal(countWords('GPT4模型'), 2);
    assert.equal(countWords(' .,'), 0);
  });
});
