import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withDefaultThinking } from './default-thinking.ts';
import { excludesThought } from './parameter-rules.ts';

const THINKS = { thinksByDefault: true } as const;

test('a request that does not say is thought about where its model does so by default', () => {
  assert.deepEqual(withDefaultThinking({ thinking: null }, THINKS, false), { thinking: null, enable_thinking: true });
  const nothing = { enable_thinking: null, thinking: undefined, reasoning_effort: null };
  assert.deepEqual(withDefaultThinking(nothing, THINKS, false), { ...nothing, enable_thinking: true });
  const effort = { reasoning_effort: 'high' };
  assert.deepEqual(withDefaultThinking(effort, THINKS, false), { ...effort, enable_thinking: true });
});

test('a request that says goes by that, in whichever word', () => {
  for (const said of [
    { enable_thinking: false },
    { enable_thinking: true },
    { thinking: { type: 'disabled' } },
    { reasoning_effort: 'none' },
  ])
    assert.equal(withDefaultThinking(said, THINKS, false), said);
});

test('without a default nothing changes, nor where a thought has no place', () => {
  const fields = { thinking: null };
  assert.equal(withDefaultThinking(fields, {}, false), fields);
  assert.equal(withDefaultThinking(fields, THINKS, true), fields);
});

test('a thought has no place before a forced call, an object, or an answer that was begun', () => {
  const messages = [{ role: 'user' as const, content: 'Hi' }];
  const begun = [...messages, { role: 'assistant' as const, content: 'Hel', partial: true }];
  const forced = { type: 'function' as const, function: { name: 'f' } };
  assert.equal(excludesThought({ messages }), false);
  assert.equal(excludesThought({ messages, tool_choice: null, response_format: { type: 'text' } }), false);
  assert.equal(excludesThought({ messages, tool_choice: 'required' }), false);
  assert.equal(excludesThought({ messages, tool_choice: forced }), true);
  assert.equal(excludesThought({ messages, response_format: { type: 'json_object' } }), true);
  assert.equal(excludesThought({ messages: begun }), true);
});
