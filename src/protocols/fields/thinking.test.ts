import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeThinking, ignoredThinking, wantsThinking } from './thinking.ts';

test('reasoning_effort none goes before thinking, that before enable_thinking, and effort alone switches nothing on', () => {
  for (const [wire, isOn] of [
    [{}, false],
    [{ enable_thinking: true }, true],
    [{ enable_thinking: false }, false],
    [{ enable_thinking: true, thinking: { type: 'disabled' } }, false],
    [{ enable_thinking: false, thinking: { type: 'adaptive' } }, true],
    [{ thinking: { type: 'enabled' }, reasoning_effort: 'none' }, false],
    [{ reasoning_effort: 'high' }, false],
  ] as const) {
    assert.equal(wantsThinking(wire), isOn, JSON.stringify(wire));
    assert.equal(decodeThinking(wire) !== undefined, isOn);
  }
});

test('low and medium are high, xhigh is max, and a budget stands beside them', () => {
  const effort = (reasoning_effort: 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max') =>
    decodeThinking({ enable_thinking: true, reasoning_effort })?.effort;
  assert.deepEqual((['minimal', 'low', 'medium', 'high'] as const).map(effort), ['high', 'high', 'high', 'high']);
  assert.deepEqual((['xhigh', 'max'] as const).map(effort), ['max', 'max']);
  assert.deepEqual(decodeThinking({ enable_thinking: true, thinking_budget: 9 }), { budgetTokens: 9 });
  assert.deepEqual(decodeThinking({ thinking: { type: 'enabled', budget_tokens: 5 } }), { budgetTokens: 5 });
});

test('what changes nothing is named: on a model that cannot think, and beside a thought that is off', () => {
  const all = { enable_thinking: true, thinking_budget: 5, reasoning_effort: 'high', preserve_thinking: true } as const;
  assert.deepEqual(ignoredThinking(all, []), []);
  assert.deepEqual(ignoredThinking(all, ['thinking', 'preserve_thinking']), [
    'enable_thinking',
    'preserve_thinking',
    'thinking_budget',
    'reasoning_effort',
  ]);
  assert.deepEqual(ignoredThinking({ thinking_budget: 5, reasoning_effort: 'low' }, []), [
    'thinking_budget',
    'reasoning_effort',
  ]);
  assert.deepEqual(ignoredThinking({ enable_thinking: false, reasoning_effort: 'none' }, []), []);
});
