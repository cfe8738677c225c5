import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { letterTokens } from './__fixtures__/letter-tokens.ts';
import { createBytePairs } from './byte-pairs.ts';
import { spelledWords } from './spelled-words.ts';

const { encode, decode } = createBytePairs(letterTokens(['h e', 'l l', 'he ll', 'hell o']));

const wordsOf = (text: string): readonly (readonly [string, string])[] =>
  spelledWords(encode(text), decode).map((word) => [word.text, word.punctuation] as const);

describe('the words of a text', () => {
  for (const [text, wanted] of [
    [
      ' hello world',
      [
        ['hello ', ''],
        ['world', ''],
      ],
    ],
    [
      ' Hello, world.',
      [
        ['Hello', ', '],
        ['world', '.'],
      ],
    ],
    [
      " It's o'clock; well-known 3.5% (yes)!",
      [
        ["It's ", ''],
        ["o'clock", '; '],
        ['well-known ', ''],
        ['3.5% ', ''],
        ['(yes', ')!'],
      ],
    ],
    [
      ' "No," he said…',
      [
        ['"No', '," '],
        ['he ', ''],
        ['said', '…'],
      ],
    ],
    [
      '我们用 Qwen 模型。好',
      [
        ['我', ''],
        ['们', ''],
        ['用 ', ''],
        ['Qwen ', ''],
        ['模', ''],
        ['型', '。'],
        ['好', ''],
      ],
    ],
    [
      'テスト、です',
      [
        ['テ', ''],
        ['ス', ''],
        ['ト', '、'],
        ['で', ''],
        ['す', ''],
      ],
    ],
    [
      ' - hello - x',
      [
        ['- hello ', ''],
        ['- x', ''],
      ],
    ],
    [' ...', [['...', '']]],
    ['', []],
  ] as const)
    it(`'${text}' are ${wanted.length}`, () => {
      assert.deepEqual(wordsOf(text), wanted);
      assert.equal(wanted.flat().join(''), text.trim());
    });

  it('know their tokens, which are all tokens of the text', () => {
    const tokens = encode(' hello 中国');
    const words = spelledWords(tokens, decode);
    assert.equal(words[0]?.from, 0);
    assert.equal(words.at(-1)?.to, tokens.length);
    for (const [at, word] of words.entries()) assert.equal(word.from, words[at - 1]?.to ?? 0);
  });

  it('pass over a character that never becomes whole', () => {
    const [broken = -1] = encode('中');
    const words = spelledWords([...encode(' a'), broken, ...encode(' b')], decode);
    assert.equal(words.map((word) => word.text).join(''), 'a\ufffd b');
  });
});
