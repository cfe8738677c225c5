import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EngineEvent } from '../../core/event.ts';
import { createCheckedText } from './checked-text.ts';
import type { CheckedTextNeeds } from './checked-text.ts';

type ChoiceEvent = Exclude<EngineEvent, { type: 'end' }>;

const text = (value: string): ChoiceEvent => ({ type: 'text', choice: 0, text: value, tokens: 1, phase: 0 });

const run = (end: Extract<ChoiceEvent, { type: 'choice-end' }>, needs: Partial<CheckedTextNeeds> = {}): number => {
  let passed = 0;
  const stage = createCheckedText({
    isFree: () => false,
    problemOf: (whole) => (whole === '{"a":1}' ? undefined : `not that: ${whole}`),
    verify: () => assert.fail('there is nothing to wait for'),
    ...needs,
  });
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

  it('may be looked at by somebody else, who is waited for', async () => {
    let seen: Promise<void> | undefined;
    const end = { type: 'choice-end', choice: 0, reason: 'stop' } as const;
    const verify = (verdict: Promise<void>): void => void (seen = verdict);
    const passed = run(end, { problemOf: async () => 'not that', verify });
    assert.equal(passed, 3);
    await assert.rejects(seen ?? Promise.resolve(), /does not follow response_format: not that/);
  });

  it('is free where a part of it is', () => {
    const wasFree: boolean[] = [];
    const end = { type: 'choice-end', choice: 0, reason: 'stop' } as const;
    for (const free of [true, false])
      run(end, { isFree: () => free, problemOf: (_, isFree) => void wasFree.push(isFree) });
    assert.deepEqual(wasFree, [true, false]);
  });
});
