import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { renderText } from './__fixtures__/render-text.ts';
import { findThinkingVariables, THINKING_ON } from './thinking-variables.ts';

const QUESTION = '{% for message in messages %}{{ message.content }}{% endfor %}';
const find = (source: string) => findThinkingVariables(renderText(source));

describe('findThinkingVariables', () => {
  it('sets only the usual switches for a template that reads nothing else, or fails', () => {
    for (const source of [
      QUESTION,
      `${QUESTION}{% if enable_thinking %}<think>{% endif %}`,
      '{{ raise_exception("") }}',
    ])
      assert.deepEqual(find(source)({ effort: 'max', budgetTokens: 9 }), THINKING_ON);
  });

  it('passes an effort to a template that writes it, among those that models know', () => {
    const set = find(`{{ "Reasoning: " + (reasoning_effort or "medium") }}${QUESTION}`);
    assert.deepEqual(set({}), THINKING_ON, "the template's own default");
    for (const [stated, passed] of [
      ['minimal', 'low'],
      ['low', 'low'],
      ['medium', 'medium'],
      ['max', 'high'],
    ] as const)
      assert.deepEqual(set({ effort: stated }), { ...THINKING_ON, reasoning_effort: passed });
  });

  it('passes the nearest effort that a template accepts', () => {
    const source = `{% if thinking_effort is defined and thinking_effort not in ["low", "high", "max"] %}{{ raise_exception("unsupported") }}{% endif %}{{ thinking_effort }}${QUESTION}`;
    const set = find(source);
    for (const [stated, passed] of [
      ['minimal', 'low'],
      ['medium', 'high'],
      ['xhigh', 'max'],
    ] as const)
      assert.deepEqual(set({ effort: stated }), { ...THINKING_ON, thinking_effort: passed });
  });

  it('passes a budget only to a template that reads it', () => {
    const set = find(`{% if thinking_budget is defined %}{{ thinking_budget }}{% endif %}${QUESTION}`);
    assert.deepEqual(set({ budgetTokens: 64 }), { ...THINKING_ON, thinking_budget: 64 });
    assert.deepEqual(set({}), THINKING_ON);
  });

  it('turns thinking on by a mode or an effort where the usual switches do not', () => {
    const byMode = find(`${QUESTION}{{ "<think>" if thinking_mode == "enabled" else "</think>" }}`);
    assert.deepEqual(byMode({}), { ...THINKING_ON, thinking_mode: 'enabled' });
    const byEffort = find(
      `${QUESTION}{% if reasoning_effort is not defined or reasoning_effort == "no_think" %}<think></think>{% elif reasoning_effort in ["low", "high"] %}<think>{% else %}{{ raise_exception("unsupported") }}{% endif %}`,
    );
    assert.deepEqual(byEffort({}), { ...THINKING_ON, reasoning_effort: 'high' });
    assert.deepEqual(byEffort({ effort: 'low' }), { ...THINKING_ON, reasoning_effort: 'low' });
  });
});
