import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createTestTokenizerFile } from './__fixtures__/test-tokenizer-file.ts';
import { createBytePairTokenizer } from './byte-pair-tokenizer.ts';
import { splitWords } from './split-words.ts';

const { encode, decode } = createBytePairTokenizer(createTestTokenizerFile(['h e', 'l l', 'he ll', 'hell o']));

const splitText = (text: string): readonly (readonly [string, string])[] =>
  splitWords(encode(text), decode).map((word) => [word.text, word.punctuation] as const);

describe('splitWords', () => {
  for (const [text, expected] of [
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
    it(`splits '${text}' into ${expected.length} words`, () => {
      assert.deepEqual(splitText(text), expected);
      assert.equal(expected.flat().join(''), text.trim());
    });

  it('assigns all tokens to words', () => {
    const tokens = encode(' hello 中国');
    const words = splitWords(tokens, decode);
    assert.equal(words[0]?.from, 0);
    assert.equal(words.at(-1)?.to, tokens.length);
    for (const [at, word] of words.entries()) assert.equal(word.from, words[at - 1]?.to ?? 0);
  });

  it('keeps an incomplete character as U+FFFD', () => {
    const [broken = -1] = encode('中');
    const words = splitWords([...encode(' a'), broken, ...encode(' b')], decode);
    assert.equal(words.map((word) => word.text).join(''), 'a\ufffd b');
  });
});
