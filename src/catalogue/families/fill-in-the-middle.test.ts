import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { findFillInTheMiddle, QWEN_FILL } from './fill-in-the-middle.ts';

describe('findFillInTheMiddle', () => {
  test('returns the family format if the vocabulary has its tokens or is unknown', () => {
    assert.equal(
      findFillInTheMiddle(QWEN_FILL, ['<|im_end|>', '<|fim_prefix|>', '<|fim_suffix|>', '<|fim_middle|>']),
      QWEN_FILL,
    );
    assert.equal(findFillInTheMiddle(QWEN_FILL, []), QWEN_FILL);
  });

  test('finds a format by the vocabulary if the family has none, or one without its tokens', () => {
    const found = (...tokens: string[]) => findFillInTheMiddle(undefined, ['<s>', ...tokens])?.prefix;
    assert.equal(found('<fim_prefix>', '<fim_middle>', '<fim_suffix>'), '<fim_prefix>');
    assert.equal(found('<｜fim▁begin｜>', '<｜fim▁hole｜>', '<｜fim▁end｜>'), '<｜fim▁begin｜>');
    assert.equal(found('▁<PRE>', '▁<MID>', '▁<SUF>', '▁<EOT>'), '▁<PRE>');
    assert.equal(found('[PREFIX]', '[SUFFIX]'), '[PREFIX]');
    assert.equal(findFillInTheMiddle(QWEN_FILL, ['[PREFIX]', '[SUFFIX]'])?.first, 'suffix');
  });

  test('returns undefined if a token is missing', () => {
    assert.equal(findFillInTheMiddle(undefined, []), undefined);
    assert.equal(findFillInTheMiddle(QWEN_FILL, ['<|im_start|>', '<|im_end|>']), undefined);
    assert.equal(findFillInTheMiddle(undefined, ['<fim_prefix>', '<fim_suffix>']), undefined);
  });
});
