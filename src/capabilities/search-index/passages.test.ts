import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { scaleInputSize } from '../../../test/property-runs.ts';
import { INDEX_PASSAGE_CHARS_MAX, INDEX_PASSAGE_WORDS } from './limits.ts';
import { splitPassages as generatePassages } from './passages.ts';
import { countWords } from './terms.ts';

const listPassages = (text: string): string[] => Array.from(generatePassages(text), ({ text: passage }) => passage);

const sentence = (name: string, words: number): string =>
  `${Array.from({ length: words }, (_, at) => `${name}${at}`).join(' ')}.`;

describe('splitPassages', () => {
  it('creates passages of about 200 words that repeat the last sentence', () => {
    const text = Array.from({ length: 40 }, (_, at) => sentence(`s${at}w`, 12)).join(' ');
    const passages = listPassages(text);
    assert.ok(passages.length >= 3);
    for (const passage of passages) assert.ok(countWords(passage) <= INDEX_PASSAGE_WORDS);
    for (const passage of passages.slice(0, -1)) assert.ok(countWords(passage) > INDEX_PASSAGE_WORDS - 30);
    for (const [at, passage] of passages.slice(1).entries()) {
      const last = (passages[at] ?? '').split(/(?<=\.) /).at(-1) ?? '';
      assert.ok(passage.startsWith(last));
    }
  });

  it('keeps line breaks and collapses spaces', () => {
    assert.deepEqual(listPassages('One.  Two\tthree\n\n\n- a\n- b  c\r\n|x|y|'), ['One. Two three\n- a\n- b c\n|x|y|']);
    assert.deepEqual(listPassages('东京是日本的首都。京都不是。'), ['东京是日本的首都。京都不是。']);
    assert.deepEqual(listPassages(' \n\t '), []);
  });

  it('starts a passage at a heading without repeating the previous sentence', () => {
    const text = `${sentence('first', 60)}\n\n# Second\n\n${sentence('second', 60)}`;
    const [first, second, ...others] = listPassages(text);
    assert.ok(first?.endsWith('first59.') && second?.startsWith('# Second\nsecond0'));
    assert.equal(others.length, 0);
  });

  it('cuts endless sentences by words or characters without loss', () => {
    const words = listPassages(Array.from({ length: 1_000 }, (_, at) => `w${at}`).join(' '));
    assert.deepEqual(
      words.join(' ').split(' '),
      Array.from({ length: 1_000 }, (_, at) => `w${at}`),
    );
    assert.ok(words.every((passage) => countWords(passage) <= INDEX_PASSAGE_WORDS));
    for (const long of ['x'.repeat(10_000), '\ud83d\udc33'.repeat(5_000), '鯨'.repeat(5_000)]) {
      const passages = listPassages(long);
      assert.equal(passages.join(''), long);
      assert.ok(passages.every((passage) => passage.length <= INDEX_PASSAGE_CHARS_MAX && passage.isWellFormed()));
    }
  });

  it('keeps every word of any text within the bounds', () => {
    const piece = fc.constantFrom(
      'a',
      'bc ',
      '. ',
      '。',
      '\n\n',
      '# ',
      '鯨',
      '! ',
      '- ',
      ' ',
      'word '.repeat(150),
      '\n',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        const text = pieces.join('');
        const passages = listPassages(text);
        const passageWords = new Set(passages.join(' ').match(/[\p{L}]+/gu));
        for (const word of text.match(/[\p{L}]+/gu) ?? []) assert.ok(passageWords.has(word));
        for (const passage of passages) {
          assert.ok(countWords(passage) <= INDEX_PASSAGE_WORDS);
          assert.ok(passage.length <= INDEX_PASSAGE_CHARS_MAX + 50);
        }
      }),
    );
  });

  it('takes linear time for any text', () => {
    const before = process.cpuUsage();
    for (const hostile of ['.', '\n', ' ', '. ', '\n ', '"', '。', 'a.', ').'])
      listPassages(hostile.repeat(scaleInputSize(100_000) / hostile.length));
    const { user } = process.cpuUsage(before);
    assert.ok(user < 8_000_000, `it took ${user / 1000} ms`);
  });
});
