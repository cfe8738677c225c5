import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeThinking, listIgnoredThinkingFields, isThinkingRequested } from './thinking.ts';

test('reasoning_effort none overrides thinking, which overrides enable_thinking; effort alone turns nothing on', () => {
  for (const [wire, isOn] of [
    [{}, false],
    [{ enable_thinking: true }, true],
    [{ enable_thinking: false }, false],
    [{ enable_thinking: true, thinking: { type: 'disabled' } }, false],
    [{ enable_thinking: false, thinking: { type: 'adaptive' } }, true],
    [{ thinking: { type: 'enabled' }, reasoning_effort: 'none' }, false],
    [{ reasoning_effort: 'high' }, false],
  ] as const) {
    assert.equal(isThinkingRequested(wire), isOn, JSON.stringify(wire));
    assert.equal(decodeThinking(wire) !== undefined, isOn);
  }
});

test('decodes the effort as it is stated, and the budget', () => {
  for (const effort of ['minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const)
    assert.deepEqual(decodeThinking({ enable_thinking: true, reasoning_effort: effort }), { effort });
  assert.deepEqual(decodeThinking({ enable_thinking: true, thinking_budget: 9 }), { budgetTokens: 9 });
  assert.deepEqual(decodeThinking({ thinking: { type: 'enabled', budget_tokens: 5 } }), { budgetTokens: 5 });
});

test('lists fields without effect on a model that cannot think, and when thinking is off', () => {
  const all = { enable_thinking: true, thinking_budget: 5, reasoning_effort: 'high', preserve_thinking: true } as const;
  assert.deepEqual(listIgnoredThinkingFields(all, []), []);
  assert.deepEqual(listIgnoredThinkingFields(all, ['thinking', 'preserve_thinking']), [
    'enable_thinking',
    'preserve_thinking',
    'thinking_budget',
    'reasoning_effort',
  ]);
  assert.deepEqual(listIgnoredThinkingFields({ thinking_budget: 5, reasoning_effort: 'low' }, []), [
    'thinking_budget',
    'reasoning_effort',
  ]);
  assert.deepEqual(listIgnoredThinkingFields({ enable_thinking: false, reasoning_effort: 'none' }, []), []);
});
