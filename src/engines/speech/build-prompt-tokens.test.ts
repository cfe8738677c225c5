import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createTestTokenizerFile } from './__fixtures__/test-tokenizer-file.ts';
import { createBytePairTokenizer } from './byte-pair-tokenizer.ts';
import { selectHotwords, buildPromptTokens } from './build-prompt-tokens.ts';

const { encode, decode } = createBytePairTokenizer(createTestTokenizerFile());
const buildPrompt = (words: Parameters<typeof buildPromptTokens>[0]): string =>
  decode(buildPromptTokens(words, encode));
const createHotwords = (...texts: readonly string[]) => texts.map((text) => ({ text, weight: 1 }));

describe('buildPromptTokens', () => {
  it('puts the glossary before the context', () => {
    assert.equal(
      buildPrompt({ hotwords: createHotwords('Qwen', 'Grafana'), context: ' What was said. ' }),
      ' Glossary: Qwen, Grafana. What was said.',
    );
    assert.equal(buildPrompt({ hotwords: createHotwords('Qwen') }), ' Glossary: Qwen.');
    assert.equal(buildPrompt({ hotwords: [], context: 'Only this.' }), ' Only this.');
    assert.equal(buildPrompt({ hotwords: [], context: '  ' }), '');
  });

  it('limits the prompt to 200 tokens: the end of the context, and the first hotwords that fit', () => {
    assert.equal(buildPrompt({ hotwords: [], context: `${'x'.repeat(5_000)}end` }), `${'x'.repeat(197)}end`);
    const crowded = buildPrompt({
      hotwords: createHotwords('a'.repeat(60), 'b'.repeat(90), 'c'.repeat(30)),
      context: `${'x'.repeat(100)}end`,
    });
    assert.equal(crowded, ` Glossary: ${'a'.repeat(60)}, ${'c'.repeat(30)}.${'x'.repeat(77)}end`);
    assert.equal(buildPromptTokens({ hotwords: createHotwords('a'.repeat(300)) }, encode).length, 200);
  });
});

describe('selectHotwords', () => {
  it('returns hotwords of the language and of all languages, heaviest first', () => {
    const list = [
      { text: 'a', weight: 2 },
      { text: 'b', weight: 5, language: 'en' },
      { text: 'c', weight: 5, language: 'de' },
      { text: 'd', weight: 2, language: 'en' },
      { text: ' ', weight: 5 },
    ];
    assert.deepEqual(
      selectHotwords(list, 'en').map(({ text }) => text),
      ['b', 'a', 'd'],
    );
  });
});
