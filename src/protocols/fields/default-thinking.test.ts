import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applyDefaultThinking } from './default-thinking.ts';
import { excludesThinking } from './parameter-rules.ts';

const THINKS = { thinksByDefault: true } as const;

test('turns thinking on by default if the request sets no thinking field', () => {
  assert.deepEqual(applyDefaultThinking({ thinking: null }, THINKS, false), { thinking: null, enable_thinking: true });
  const nothing = { enable_thinking: null, thinking: undefined, reasoning_effort: null };
  assert.deepEqual(applyDefaultThinking(nothing, THINKS, false), { ...nothing, enable_thinking: true });
  const effort = { reasoning_effort: 'high' };
  assert.deepEqual(applyDefaultThinking(effort, THINKS, false), { ...effort, enable_thinking: true });
});

test('leaves a request unchanged that sets a thinking field', () => {
  for (const fields of [
    { enable_thinking: false },
    { enable_thinking: true },
    { thinking: { type: 'disabled' } },
    { reasoning_effort: 'none' },
  ])
    assert.equal(applyDefaultThinking(fields, THINKS, false), fields);
});

test('leaves a request unchanged without the default or when thinking is excluded', () => {
  const fields = { thinking: null };
  assert.equal(applyDefaultThinking(fields, {}, false), fields);
  assert.equal(applyDefaultThinking(fields, THINKS, true), fields);
});

test('thinking is excluded by a forced call, a JSON object, and a partial answer', () => {
  const messages = [{ role: 'user' as const, content: 'Hi' }];
  const partial = [...messages, { role: 'assistant' as const, content: 'Hel', partial: true }];
  const forced = { type: 'function' as const, function: { name: 'f' } };
  assert.equal(excludesThinking({ messages }), false);
  assert.equal(excludesThinking({ messages, tool_choice: null, response_format: { type: 'text' } }), false);
  assert.equal(excludesThinking({ messages, tool_choice: 'required' }), false);
  assert.equal(excludesThinking({ messages, tool_choice: forced }), true);
  assert.equal(excludesThinking({ messages, response_format: { type: 'json_object' } }), true);
  assert.equal(excludesThinking({ messages: partial }), true);
});
