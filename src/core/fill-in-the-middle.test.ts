import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FILL_FORMATS, findFillInTheMiddle, getPartTokens, QWEN_FILL } from './fill-in-the-middle.ts';

const DECLARED = { prefix: '<p>', suffix: '<s>', middle: '<m>', stopTokens: ['<p>'] };

describe('findFillInTheMiddle', () => {
  test('returns the family format if the vocabulary has its tokens or is unknown', () => {
    const specialTokens = ['<|im_end|>', '<|fim_prefix|>', '<|fim_suffix|>', '<|fim_middle|>'];
    assert.equal(findFillInTheMiddle(QWEN_FILL, { specialTokens }), QWEN_FILL);
    assert.equal(findFillInTheMiddle(QWEN_FILL, { specialTokens: [] }), QWEN_FILL);
  });

  for (const format of FILL_FORMATS)
    test(`finds the format of ${format.prefix} by the vocabulary`, () => {
      const specialTokens = ['<s>', ...getPartTokens(format).toReversed()];
      assert.equal(findFillInTheMiddle(undefined, { specialTokens }), format);
      assert.ok(getPartTokens(format).every((token) => format.stopTokens.includes(token)));
    });

  test('finds a format by the vocabulary if the family has one without its tokens', () => {
    assert.equal(findFillInTheMiddle(QWEN_FILL, { specialTokens: ['[PREFIX]', '[SUFFIX]'] })?.first, 'suffix');
  });

  test('prefers the tokens that the file declares, in the order of the format with these names', () => {
    const specialTokens = getPartTokens(QWEN_FILL);
    assert.equal(findFillInTheMiddle(undefined, { specialTokens, fillTokens: DECLARED }), DECLARED);
    const seed = { ...DECLARED, prefix: '<[fim-prefix]>', suffix: '<[fim-suffix]>' };
    assert.equal(findFillInTheMiddle(undefined, { specialTokens, fillTokens: seed })?.first, 'suffix');
  });

  test('returns undefined if a token is missing', () => {
    assert.equal(findFillInTheMiddle(undefined, { specialTokens: [] }), undefined);
    assert.equal(findFillInTheMiddle(QWEN_FILL, { specialTokens: ['<|im_start|>', '<|im_end|>'] }), undefined);
    assert.equal(findFillInTheMiddle(undefined, { specialTokens: ['<fim_prefix>', '<fim_suffix>'] }), undefined);
  });
});
