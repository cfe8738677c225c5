import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { readTemplate } from './template.ts';

const fill = (prefix: string, suffix: string) => ({ type: 'fill', prefix, suffix });

describe('a prompt for completion', () => {
  test("is read by the specification's two templates", () => {
    assert.deepEqual(readTemplate('<|fim_prefix|>a<|fim_suffix|>'), fill('a', ''));
    assert.deepEqual(readTemplate('<|fim_prefix|>a<|fim_suffix|>b<|fim_middle|>'), fill('a', 'b'));
  });

  test('may lack the middle at its end', () => {
    assert.deepEqual(readTemplate('<|fim_prefix|>a<|fim_suffix|>b'), fill('a', 'b'));
    assert.deepEqual(readTemplate('<|fim_prefix|>a<|fim_suffix|><|fim_middle|>'), fill('a', ''));
  });

  test('is text where it begins otherwise, whatever it holds', () => {
    for (const text of [
      'def f():',
      ' <|fim_prefix|>a<|fim_suffix|>',
      'a<|fim_suffix|>b<|fim_middle|>',
      '<|fim_middle|>',
    ])
      assert.deepEqual(readTemplate(text), { type: 'text', text });
  });

  test('has content for literals at other places: the last ends the first template, the first parts the second', () => {
    assert.deepEqual(readTemplate('<|fim_prefix|>a<|fim_suffix|>b<|fim_suffix|>'), fill('a<|fim_suffix|>b', ''));
    assert.deepEqual(
      readTemplate(
        '<|fim_prefix|><|fim_prefix|>a<|fim_middle|><|fim_suffix|>b<|fim_suffix|>c<|fim_middle|>d<|fim_middle|>',
      ),
      fill('<|fim_prefix|>a<|fim_middle|>', 'b<|fim_suffix|>c<|fim_middle|>d'),
    );
  });

  test('is none of them without a prefix before the suffix, or without a suffix', () => {
    for (const text of ['<|fim_suffix|>b<|fim_middle|>', '<|fim_prefix|>a', '<|fim_prefix|>a<|fim_middle|>'])
      assert.equal(readTemplate(text), undefined, text);
  });

  test('may be the whole second template in the spellings that editors know, and is text where it is less', () => {
    assert.deepEqual(readTemplate('<fim_prefix>a<fim_suffix>b<fim_middle>'), fill('a', 'b'));
    assert.deepEqual(readTemplate('<｜fim▁begin｜>a<｜fim▁hole｜>b<｜fim▁end｜>'), fill('a', 'b'));
    for (const text of ['<fim_prefix>a<fim_suffix>b', '<fim_prefix>a<fim_middle>', '<fim_suffix>b<fim_middle>'])
      assert.deepEqual(readTemplate(text), { type: 'text', text });
  });

  test('gives back any content that holds no literal of its separator', () => {
    const part = fc.constantFrom('<|fim_prefix|>', '<|fim_middle|>', '<|fim_', 'suffix|>', 'x', '\n', '<', '|>');
    const content = fc
      .array(part, { maxLength: 6 })
      .map((parts) => parts.join(''))
      .filter((text) => !text.includes('<|fim_suffix|>') && !text.includes('<|fim_<|fim_suffix|>'));
    fc.assert(
      fc.property(content, content, (prefix, suffix) => {
        const prompt = `<|fim_prefix|>${prefix}<|fim_suffix|>${suffix}<|fim_middle|>`;
        fc.pre(prompt.split('<|fim_suffix|>').length === 2);
        assert.deepEqual(readTemplate(prompt), fill(prefix, suffix));
      }),
    );
  });
});
