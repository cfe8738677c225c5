import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toIgnoredFieldNames } from './ignored-field-names.ts';
import type { ChatFields } from './parameter-schema.ts';

const wire: ChatFields = {
  messages: [{ role: 'user', content: [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral' } }] }],
};

test('passes on field names from generation', () => {
  assert.deepEqual(toIgnoredFieldNames(wire, ['max_tokens(clamped)', 'logprobs(grammar)']), [
    'max_tokens(clamped)',
    'logprobs(grammar)',
  ]);
  assert.deepEqual(toIgnoredFieldNames(wire, []), []);
});

test('replaces each ability by the names of its fields', () => {
  const request = { ...wire, enable_thinking: true, preserve_thinking: true };
  assert.deepEqual(
    toIgnoredFieldNames(request, ['thinking', 'preserve_thinking', 'response_format', 'cache_control']),
    ['enable_thinking', 'preserve_thinking', 'response_format', 'messages.cache_control'],
  );
});

test('names the field of a lowered thinking budget as the request spells it', () => {
  const ignored = ['thinking_budget(clamped)'];
  assert.deepEqual(toIgnoredFieldNames({ ...wire, enable_thinking: true, thinking_budget: 9 }, ignored), ignored);
  const thinking = { type: 'enabled', budget_tokens: 9 } as const;
  assert.deepEqual(toIgnoredFieldNames({ ...wire, thinking }, ignored), ['thinking.budget_tokens(clamped)']);
});
