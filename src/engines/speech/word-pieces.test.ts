import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createWordPieces } from './word-pieces.ts';

const WORDS = ['[UNK]', '[SEP]', 'un', '##aff', '##able', 'cafe', '北', '京', "'", 't', 'don', '[', ']', 'sep', '##s'];
const pieces = createWordPieces({
  model: {
    vocab: Object.fromEntries(WORDS.map((word, id) => [word, id])),
    unk_token: '[UNK]',
    continuing_subword_prefix: '##',
    max_input_chars_per_word: 10,
  },
});
const spelled = (text: string): readonly string[] => pieces(text).map((id) => WORDS[id] ?? '');

describe('word pieces', () => {
  it('are the longest known beginnings, one after another', () => {
    assert.deepEqual(spelled('unaffable'), ['un', '##aff', '##able']);
    assert.deepEqual(spelled('dons'), ['don', '##s']);
  });

  it('know neither case nor accents, and put signs and ideographs apart', () => {
    assert.deepEqual(spelled("CAFÉ don't 北京"), ['cafe', 'don', "'", 't', '北', '京']);
    assert.deepEqual(spelled('un\u200baffable\u0007'), ['un', '##aff', '##able']);
  });

  it('take a word that cannot be spelled, or is too long, for unknown as a whole', () => {
    assert.deepEqual(spelled('unx cafe'), ['[UNK]', 'cafe']);
    assert.deepEqual(spelled('ununununununun'), ['[UNK]']);
  });

  it('never become special tokens', () => {
    assert.deepEqual(spelled('[SEP]'), ['[', 'sep', ']']);
  });
});
