import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { letterTokens } from './__fixtures__/letter-tokens.ts';
import { createBytePairs } from './byte-pairs.ts';
import { hotwordsOf, promptTokens } from './prompt.ts';

const { encode, decode } = createBytePairs(letterTokens());
const textOf = (words: Parameters<typeof promptTokens>[0]): string => decode(promptTokens(words, encode));
const hotwords = (...texts: readonly string[]) => texts.map((text) => ({ text, weight: 1 }));

describe('the prompt before a text', () => {
  it('is a glossary, then the context', () => {
    assert.equal(
      textOf({ hotwords: hotwords('Qwen', 'Grafana'), context: ' What was said. ' }),
      ' Glossary: Qwen, Grafana. What was said.',
    );
    assert.equal(textOf({ hotwords: hotwords('Qwen') }), ' Glossary: Qwen.');
    assert.equal(textOf({ hotwords: [], context: 'Only this.' }), ' Only this.');
    assert.equal(textOf({ hotwords: [], context: '  ' }), '');
  });

  it('has room for 200 tokens: of the context its end, of the glossary what fits, first ones first', () => {
    assert.equal(textOf({ hotwords: [], context: `${'x'.repeat(5_000)}end` }), `${'x'.repeat(197)}end`);
    const crowded = textOf({
      hotwords: hotwords('a'.repeat(60), 'b'.repeat(90), 'c'.repeat(30)),
      context: `${'x'.repeat(100)}end`,
    });
    assert.equal(crowded, ` Glossary: ${'a'.repeat(60)}, ${'c'.repeat(30)}.${'x'.repeat(77)}end`);
    assert.equal(promptTokens({ hotwords: hotwords('a'.repeat(300)) }, encode).length, 200);
  });
});

describe('the hotwords of a language', () => {
  it('are its own and those of all languages, heaviest first, among equals in their order', () => {
    const list = [
      { text: 'a', weight: 2 },
      { text: 'b', weight: 5, language: 'en' },
      { text: 'c', weight: 5, language: 'de' },
      { text: 'd', weight: 2, language: 'en' },
      { text: ' ', weight: 5 },
    ];
    assert.deepEqual(
      hotwordsOf(list, 'en').map(({ text }) => text),
      ['b', 'a', 'd'],
    );
  });
});
