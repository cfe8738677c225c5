import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { INDEX_PASSAGE_CHARS_MAX, INDEX_PASSAGE_WORDS } from '../../core/limits.ts';
import { passagesOf as generatePassages } from './passages.ts';
import { wordCountOf } from './terms.ts';

const passagesOf = (text: string): string[] => [...generatePassages(text)];

const sentence = (name: string, words: number): string =>
  `${Array.from({ length: words }, (_, at) => `${name}${at}`).join(' ')}.`;

describe('the passages of a text', () => {
  it('are about two hundred words each, and begin with the last sentence of the one before', () => {
    const text = Array.from({ length: 40 }, (_, at) => sentence(`s${at}w`, 12)).join(' ');
    const passages = passagesOf(text);
    assert.ok(passages.length >= 3);
    for (const passage of passages) assert.ok(wordCountOf(passage) <= INDEX_PASSAGE_WORDS);
    for (const passage of passages.slice(0, -1)) assert.ok(wordCountOf(passage) > INDEX_PASSAGE_WORDS - 30);
    for (const [at, passage] of passages.slice(1).entries()) {
      const last = (passages[at] ?? '').split(/(?<=\.) /).at(-1) ?? '';
      assert.ok(passage.startsWith(last));
    }
  });

  it('keep the ends of lines, and no blanks in a row', () => {
    assert.deepEqual(passagesOf('One.  Two\tthree\n\n\n- a\n- b  c\r\n|x|y|'), ['One. Two three\n- a\n- b c\n|x|y|']);
    assert.deepEqual(passagesOf('东京是日本的首都。京都不是。'), ['东京是日本的首都。京都不是。']);
    assert.deepEqual(passagesOf(' \n\t '), []);
  });

  it('begin with a heading where one comes, and not with what stood before it', () => {
    const text = `${sentence('first', 60)}\n\n# Second\n\n${sentence('second', 60)}`;
    const [first, second, ...others] = passagesOf(text);
    assert.ok(first?.endsWith('first59.') && second?.startsWith('# Second\nsecond0'));
    assert.equal(others.length, 0);
  });

  it('cut what has no end, by words or by characters, and lose nothing', () => {
    const words = passagesOf(Array.from({ length: 1_000 }, (_, at) => `w${at}`).join(' '));
    assert.deepEqual(
      words.join(' ').split(' '),
      Array.from({ length: 1_000 }, (_, at) => `w${at}`),
    );
    assert.ok(words.every((passage) => wordCountOf(passage) <= INDEX_PASSAGE_WORDS));
    for (const long of ['x'.repeat(10_000), '\ud83d\udc33'.repeat(5_000), '鯨'.repeat(5_000)]) {
      const passages = passagesOf(long);
      assert.equal(passages.join(''), long);
      assert.ok(passages.every((passage) => passage.length <= INDEX_PASSAGE_CHARS_MAX && passage.isWellFormed()));
    }
  });

  it('hold every word of any text, within their bounds', () => {
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
        const passages = passagesOf(text);
        const said = new Set(passages.join(' ').match(/[\p{L}]+/gu));
        for (const word of text.match(/[\p{L}]+/gu) ?? []) assert.ok(said.has(word));
        for (const passage of passages) {
          assert.ok(wordCountOf(passage) <= INDEX_PASSAGE_WORDS);
          assert.ok(passage.length <= INDEX_PASSAGE_CHARS_MAX + 50);
        }
      }),
    );
  });

  it('take time by the length of a text, whatever is in it', () => {
    const before = process.cpuUsage();
    for (const hostile of ['.', '\n', ' ', '. ', '\n ', '"', '。', 'a.', ').'])
      passagesOf(hostile.repeat(100_000 / hostile.length));
    const { user } = process.cpuUsage(before);
    assert.ok(user < 8_000_000, `it took ${user / 1000} ms`);
  });
});
