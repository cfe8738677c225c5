import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { extractQuestionTerms, extractTerms, countWords } from './terms.ts';

describe('extractTerms', () => {
  const cases: readonly [string, readonly string[]][] = [
    ['The Whales SWIM', ['the', 'whale', 'swim']],
    ['Élève naïve, straße! Ærø', ['elev', 'naiv', 'strass', 'aero']],
    ['cities boxes glasses bus class series', ['citi', 'box', 'glass', 'bu', 'class', 'seri']],
    ['x.y_z-1 v2.0', ['x', 'y', 'z', '1', 'xyz1', 'v2', '0', 'v20']],
    ['max_wal_size', ['max', 'wal', 'size', 'maxwals']],
    ['maxWalSize', ['max', 'wal', 'size', 'maxwals']],
    ['os.path.join()', ['os', 'path', 'join', 'ospathjoin']],
    ['std::move p->next', ['std', 'move', 'stdmove', 'p', 'next', 'pnext']],
    ['--no-verify, 10.', ['no', 'verifi', 'noverifi', '10']],
    ['indexes indexing indexed', ['index', 'index', 'index']],
    ['one.Two.three.four.five.six.seven', ['on', 'two', 'three', 'four', 'five', 'six', 'seven']],
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
  const getWords = (text: string) => extractQuestionTerms(text).words;

  it('returns distinct terms without stop words', () => {
    assert.deepEqual(getWords('What is the whale and where do whales sleep?'), ['whale', 'sleep']);
    assert.deepEqual(getWords('who is this'), ['who', 'is', 'thi']);
  });
  it('returns character pairs of unspaced scripts, or a single character', () => {
    assert.deepEqual(getWords('东京首都'), ['东京', '京首', '首都']);
    assert.deepEqual(getWords('水'), ['水']);
  });
  it('returns terms that extractTerms also returns', () => {
    for (const text of ['Running servers’ queues', '新しいサーバー', '서버를 시작', 'ÉCOLES 3 v1.2 max_wal_size']) {
      const textTerms = new Set(extractTerms(text));
      for (const term of getWords(text)) assert.ok(textTerms.has(term), term);
    }
  });
  it('returns identifiers and neighboring words as compounds', () => {
    const { compounds } = extractQuestionTerms('max_wal_size');
    assert.deepEqual(compounds.get(extractTerms('max_wal_size').at(-1) ?? ''), ['max', 'wal', 'size']);
    const [autovacuum = ''] = extractTerms('autovacuum');
    assert.deepEqual(
      [...extractQuestionTerms('the auto vacuum of tables').compounds],
      [[autovacuum, ['auto', 'vacuum']]],
    );
    assert.deepEqual([...extractQuestionTerms('size of tables').compounds], []);
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
