import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PROMPT_CHARS_PER_TOKEN_MAX } from '../core/limits.ts';
import type { Message } from '../core/message.ts';
import { checkPromptLength, countRequestChars } from './check-prompt-length.ts';

const say = (text: string): Message => ({ role: 'user', content: [{ type: 'text', text }] });

test('accepts 16 characters for each token of the context, and refuses one more with both numbers', () => {
  checkPromptLength(10 * PROMPT_CHARS_PER_TOKEN_MAX, 10);
  assert.throws(() => checkPromptLength(161, 10), {
    kind: 'context-exceeded',
    param: 'messages',
    message:
      "Range of input length should be [1, 9] (the prompt has 161 characters; for the model's context of 10 tokens, at most 160 are read)",
    tokenOverflow: { tokens: 11, tokensMax: 9 },
  });
});

test('counts the text of messages and prompts, and each message as a token at least', () => {
  const messages = [{ ...say('abc'), reasoning: 'de' }, say(''), { role: 'assistant', content: [] } as const];
  assert.equal(countRequestChars({ messages }), 3 * PROMPT_CHARS_PER_TOKEN_MAX + 5);
  assert.equal(countRequestChars({ messages: [], prompt: { type: 'text', text: 'abc' } }), 3);
  assert.equal(countRequestChars({ messages: [], prompt: { type: 'fill', prefix: 'ab', suffix: 'c' } }), 3);
  assert.equal(countRequestChars({ messages: [], prompt: { type: 'tokens', tokens: [1, 2] } }), 0);
});

test('counts the text of tools and calls', () => {
  const call = { id: 'call_1', name: 'f', arguments: '{"a":1}' };
  const messages = [{ role: 'assistant', content: [], toolCalls: [call] } as const];
  assert.equal(countRequestChars({ messages }), PROMPT_CHARS_PER_TOKEN_MAX + 7);
  const parameters = { type: 'object', properties: { a: { description: 'abcd', enum: ['ef', 1, null] } } };
  const tools = [{ name: 'f', description: 'abc', parameters, field: 'tools[0]' }];
  const toolUse = { tools, choice: 'auto', isParallel: true, streamsComplexArguments: false } as const;
  assert.equal(countRequestChars({ messages: [], toolUse }), 3 + 6 + 4 + 2);
});
