import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PromptWire } from './schema.ts';
import { applyDefaultThinking } from './thinking.ts';

const THINKS = { thinksByDefault: true } as const;
const WIRE: PromptWire = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] };

test('enables thinking for a model that thinks by default', () => {
  assert.deepEqual(applyDefaultThinking(WIRE, THINKS).thinking, { type: 'adaptive' });
  assert.equal(applyDefaultThinking(WIRE, {}), WIRE);
});

test('keeps explicit settings, and excludes forced calls and started answers', () => {
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
    assert.equal(applyDefaultThinking(wire, THINKS), wire);
  }
  const auto = { ...WIRE, tools, tool_choice: { type: 'auto' } } satisfies PromptWire;
  assert.deepEqual(applyDefaultThinking(auto, THINKS).thinking, { type: 'adaptive' });
});
