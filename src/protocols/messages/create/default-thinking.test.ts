import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PromptWire } from './schema.ts';
import { withDefaultThinking } from './thinking.ts';

const THINKS = { thinksByDefault: true } as const;
const WIRE: PromptWire = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] };

test('a request that does not say is thought about where its model does so by default', () => {
  assert.deepEqual(withDefaultThinking(WIRE, THINKS).thinking, { type: 'adaptive' });
  assert.equal(withDefaultThinking(WIRE, {}), WIRE);
});

test('the default gives way to what is said, and to what no thought can stand before', () => {
  const tools = [{ name: 'f', input_schema: { type: 'object' } }];
  for (const change of [
    { thinking: { type: 'disabled' } },
    { reasoning_effort: 'none' },
    { output_config: { effort: 'none' } },
    { tools, tool_choice: { type: 'any' } },
    { tools, tool_choice: { type: 'tool', name: 'f' } },
    { messages: [...WIRE.messages, { role: 'assistant', content: 'Hel' }] },
  ] satisfies readonly Partial<PromptWire>[]) {
    const wire = { ...WIRE, ...change };
    assert.equal(withDefaultThinking(wire, THINKS), wire);
  }
  const auto = { ...WIRE, tools, tool_choice: { type: 'auto' } } satisfies PromptWire;
  assert.deepEqual(withDefaultThinking(auto, THINKS).thinking, { type: 'adaptive' });
});
