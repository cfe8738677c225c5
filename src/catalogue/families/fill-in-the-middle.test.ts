import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { fillInTheMiddleOf, QWEN_FILL } from './fill-in-the-middle.ts';

describe('how a loaded model fills in the middle', () => {
  test("is its family's way where the vocabulary has the tokens, or nobody tells what it has", () => {
    assert.equal(
      fillInTheMiddleOf(QWEN_FILL, ['<|im_end|>', '<|fim_prefix|>', '<|fim_suffix|>', '<|fim_middle|>']),
      QWEN_FILL,
    );
    assert.equal(fillInTheMiddleOf(QWEN_FILL, []), QWEN_FILL);
  });

  test('is found by the tokens of its vocabulary where the family says nothing, or something else', () => {
    const found = (...tokens: string[]) => fillInTheMiddleOf(undefined, ['<s>', ...tokens])?.prefix;
    assert.equal(found('<fim_prefix>', '<fim_middle>', '<fim_suffix>'), '<fim_prefix>');
    assert.equal(found('<｜fim▁begin｜>', '<｜fim▁hole｜>', '<｜fim▁end｜>'), '<｜fim▁begin｜>');
    assert.equal(found('▁<PRE>', '▁<MID>', '▁<SUF>', '▁<EOT>'), '▁<PRE>');
    assert.equal(found('[PREFIX]', '[SUFFIX]'), '[PREFIX]');
    assert.equal(fillInTheMiddleOf(QWEN_FILL, ['[PREFIX]', '[SUFFIX]'])?.first, 'suffix');
  });

  test('is unknown where a token is missing', () => {
    assert.equal(fillInTheMiddleOf(undefined, []), undefined);
    assert.equal(fillInTheMiddleOf(QWEN_FILL, ['<|im_start|>', '<|im_end|>']), undefined);
    assert.equal(fillInTheMiddleOf(undefined, ['<fim_prefix>', '<fim_suffix>']), undefined);
  });
});
