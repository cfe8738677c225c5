import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EngineEvent } from '../../core/event.ts';
import { createCheckedText } from './checked-text.ts';

type ChoiceEvent = Exclude<EngineEvent, { type: 'end' }>;

const text = (value: string): ChoiceEvent => ({ type: 'text', choice: 0, text: value, tokens: 1, phase: 0 });

const run = (end: Extract<ChoiceEvent, { type: 'choice-end' }>): number => {
  let passed = 0;
  const stage = createCheckedText((whole) => (whole === '{"a":1}' ? undefined : `not that: ${whole}`));
  for (const event of [text('{"a"'), text(':2}'), end]) stage.push(event, () => passed++);
  return passed;
};

describe('an answer that was to have a form', () => {
  it('does not look finished in another', () => {
    assert.throws(() => run({ type: 'choice-end', choice: 0, reason: 'stop' }), /not that: {"a":2}/);
  });

  it('is told as it is where a limit or the caller’s stop sequence cut it', () => {
    assert.equal(run({ type: 'choice-end', choice: 0, reason: 'length' }), 3);
    assert.equal(run({ type: 'choice-end', choice: 0, reason: 'stop', stop: '}' }), 3);
  });
});
