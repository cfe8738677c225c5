import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { parseFillTemplate } from './template.ts';

const fill = (prefix: string, suffix: string) => ({ type: 'fill', prefix, suffix });

describe('parsing a completion prompt', () => {
  test('recognizes the two documented templates', () => {
    assert.deepEqual(parseFillTemplate('<|fim_prefix|>a<|fim_suffix|>'), fill('a', ''));
    assert.deepEqual(parseFillTemplate('<|fim_prefix|>a<|fim_suffix|>b<|fim_middle|>'), fill('a', 'b'));
  });

  test('accepts a missing middle literal at the end', () => {
    assert.deepEqual(parseFillTemplate('<|fim_prefix|>a<|fim_suffix|>b'), fill('a', 'b'));
    assert.deepEqual(parseFillTemplate('<|fim_prefix|>a<|fim_suffix|><|fim_middle|>'), fill('a', ''));
  });

  test('returns plain text if the prompt does not start with a template literal', () => {
    for (const text of [
      'def f():',
      ' <|fim_prefix|>a<|fim_suffix|>',
      'a<|fim_suffix|>b<|fim_middle|>',
      '<|fim_middle|>',
    ])
      assert.deepEqual(parseFillTemplate(text), { type: 'text', text });
  });

  test('treats literals at other positions as content', () => {
    assert.deepEqual(parseFillTemplate('<|fim_prefix|>a<|fim_suffix|>b<|fim_suffix|>'), fill('a<|fim_suffix|>b', ''));
    assert.deepEqual(
      parseFillTemplate(
        '<|fim_prefix|><|fim_prefix|>a<|fim_middle|><|fim_suffix|>b<|fim_suffix|>c<|fim_middle|>d<|fim_middle|>',
      ),
      fill('<|fim_prefix|>a<|fim_middle|>', 'b<|fim_suffix|>c<|fim_middle|>d'),
    );
  });

  test('returns undefined without prefix or suffix literal', () => {
    for (const text of ['<|fim_suffix|>b<|fim_middle|>', '<|fim_prefix|>a', '<|fim_prefix|>a<|fim_middle|>'])
      assert.equal(parseFillTemplate(text), undefined, text);
  });

  test('recognizes the complete second template in other spellings, and returns incomplete ones as text', () => {
    assert.deepEqual(parseFillTemplate('<fim_prefix>a<fim_suffix>b<fim_middle>'), fill('a', 'b'));
    assert.deepEqual(parseFillTemplate('<｜fim▁begin｜>a<｜fim▁hole｜>b<｜fim▁end｜>'), fill('a', 'b'));
    assert.deepEqual(parseFillTemplate('<PRE> a <SUF>b <MID>'), fill('a', 'b'));
    assert.deepEqual(parseFillTemplate('[SUFFIX]b[PREFIX]a'), fill('a', 'b'));
    assert.deepEqual(parseFillTemplate('<[fim-suffix]>b<[fim-prefix]>a<[fim-middle]>'), fill('a', 'b'));
    for (const text of [
      '<fim_prefix>a<fim_suffix>b',
      '<fim_prefix>a<fim_middle>',
      '<fim_suffix>b<fim_middle>',
      '[SUFFIX]b',
      '<PRE> ',
    ])
      assert.deepEqual(parseFillTemplate(text), { type: 'text', text });
  });

  test('returns any content without the separator unchanged', () => {
    const part = fc.constantFrom('<|fim_prefix|>', '<|fim_middle|>', '<|fim_', 'suffix|>', 'x', '\n', '<', '|>');
    const content = fc
      .array(part, { maxLength: 6 })
      .map((parts) => parts.join(''))
      .filter((text) => !text.includes('<|fim_suffix|>') && !text.includes('<|fim_<|fim_suffix|>'));
    fc.assert(
      fc.property(content, content, (prefix, suffix) => {
        const prompt = `<|fim_prefix|>${prefix}<|fim_suffix|>${suffix}<|fim_middle|>`;
        fc.pre(prompt.split('<|fim_suffix|>').length === 2);
        assert.deepEqual(parseFillTemplate(prompt), fill(prefix, suffix));
      }),
    );
  });
});
