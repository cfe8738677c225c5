import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { estimateInputTokens, estimateTextTokens } from './estimate-tokens.ts';

describe('estimating tokens', () => {
  for (const [text, tokens] of [
    ['', 0],
    ['abc', 1],
    ['abcde', 2],
    ['你好', 2],
    ['こんにちは', 5],
    ['안녕', 2],
    ['𠀀', 1],
    ['你好abcd', 3],
    ['привет', 3],
  ] as const)
    test(`counts ${tokens} for ${JSON.stringify(text)}`, () => assert.equal(estimateTextTokens(text), tokens));

  test('estimates a very long text from its beginning', () => {
    // A part of 262,144 characters ends inside one of these pieces.
    assert.equal(estimateTextTokens('你好abcd'.repeat(100_000)), 300_003);
    assert.equal(estimateTextTokens(`${'你'.repeat(262_144)}${'a'.repeat(262_144)}`), 524_288);
  });

  test('counts each message, picture, call and tool, and thoughts only when the server receives them', () => {
    const user = { role: 'user', content: [{ type: 'text', text: 'abcd' }] } as const;
    const image = {
      role: 'user',
      content: [{ type: 'image', url: `data:image/png;base64,${'A'.repeat(9_999)}` }],
    } as const;
    const call = {
      role: 'assistant',
      content: [],
      reasoning: 'abcd',
      toolCalls: [{ id: 'c', name: 'f', arguments: '{}' }],
    } as const;
    const tool = { name: 'f', description: 'd', parameters: undefined, field: 'tools[0].parameters' };
    const toolUse = { tools: [tool], choice: 'auto', isParallel: true, streamsComplexArguments: false } as const;
    assert.equal(estimateInputTokens({ type: 'messages', messages: [user] }), 5);
    assert.equal(estimateInputTokens({ type: 'messages', messages: [image] }), 1_028);
    assert.equal(estimateInputTokens({ type: 'messages', messages: [call] }), 9);
    assert.equal(estimateInputTokens({ type: 'messages', messages: [call], preserveThinking: true }), 10);
    assert.equal(estimateInputTokens({ type: 'messages', messages: [user], toolUse }), 10);
    assert.equal(estimateInputTokens({ type: 'tokens', tokens: [1, 2] }), 2);
  });
});
