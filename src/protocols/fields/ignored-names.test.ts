import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ignoredNames } from './ignored-names.ts';
import type { ChatFields } from './parameter-schema.ts';

const wire: ChatFields = {
  messages: [{ role: 'user', content: [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral' } }] }],
};

test('fields that generation names are passed on', () => {
  assert.deepEqual(ignoredNames(wire, ['max_tokens(clamped)', 'logprobs(grammar)']), [
    'max_tokens(clamped)',
    'logprobs(grammar)',
  ]);
  assert.deepEqual(ignoredNames(wire, []), []);
});

test('each ability has the names of its fields', () => {
  const asked = { ...wire, enable_thinking: true, preserve_thinking: true };
  assert.deepEqual(ignoredNames(asked, ['thinking', 'preserve_thinking', 'response_format', 'cache_control']), [
    'enable_thinking',
    'preserve_thinking',
    'response_format',
    'messages.cache_control',
  ]);
});
