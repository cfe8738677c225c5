import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ignoredNames } from './ignored-names.ts';
import type { ChatFields } from './parameter-schema.ts';

const wire: ChatFields = {
  messages: [{ role: 'user', content: [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral' } }] }],
  tools: [{ type: 'function', function: { name: 'f' } }],
};

test('fields that generation names are passed on', () => {
  assert.deepEqual(ignoredNames(wire, ['max_tokens(clamped)', 'top_p']), ['max_tokens(clamped)', 'top_p']);
  assert.deepEqual(ignoredNames(wire, []), []);
});

test('tools that nobody heard take the wishes about them along, not what happens anyway', () => {
  assert.deepEqual(
    ignoredNames({ ...wire, tool_choice: 'auto', parallel_tool_calls: false, tool_stream: true }, ['tools']),
    ['tools'],
  );
  const wishes = { tool_choice: 'required', parallel_tool_calls: true, tool_stream: true, stream: true } as const;
  assert.deepEqual(ignoredNames({ ...wire, ...wishes }, ['tools']), [
    'tools',
    'tool_choice',
    'parallel_tool_calls',
    'tool_stream',
  ]);
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
