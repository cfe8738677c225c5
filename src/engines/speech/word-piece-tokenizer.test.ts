import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createWordPieceTokenizer } from './word-piece-tokenizer.ts';

const WORDS = ['[UNK]', '[SEP]', 'un', '##aff', '##able', 'cafe', '北', '京', "'", 't', 'don', '[', ']', 'sep', '##s'];
const tokenize = createWordPieceTokenizer({
  model: {
    vocab: Object.fromEntries(WORDS.map((word, id) => [word, id])),
    unk_token: '[UNK]',
    continuing_subword_prefix: '##',
    max_input_chars_per_word: 10,
  },
});
const splitToPieces = (text: string): readonly string[] => tokenize(text).map((id) => WORDS[id] ?? '');

describe('WordPieceTokenizer', () => {
  it('takes the longest known prefixes', () => {
    assert.deepEqual(splitToPieces('unaffable'), ['un', '##aff', '##able']);
    assert.deepEqual(splitToPieces('dons'), ['don', '##s']);
  });

  it('ignores case and accents, and separates punctuation and ideographs', () => {
    assert.deepEqual(splitToPieces("CAFÉ don't 北京"), ['cafe', 'don', "'", 't', '北', '京']);
    assert.deepEqual(splitToPieces('un\u200baffable\u0007'), ['un', '##aff', '##able']);
  });

  it('replaces words that cannot be split or are too long by the unknown token', () => {
    assert.deepEqual(splitToPieces('unx cafe'), ['[UNK]', 'cafe']);
    assert.deepEqual(splitToPieces('ununununununun'), ['[UNK]']);
  });

  it('never returns special tokens for their names', () => {
    assert.deepEqual(splitToPieces('[SEP]'), ['[', 'sep', ']']);
  });
});
