import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ChoiceEvent } from '../../core/event.ts';
import { createFormatCheckStage, type FormatCheckOptions } from './format-check.ts';

const text = (value: string): ChoiceEvent => ({ type: 'text', choice: 0, text: value, tokens: 1, phase: 0 });

const run = (end: Extract<ChoiceEvent, { type: 'choice-end' }>, needs: Partial<FormatCheckOptions> = {}): number => {
  let passed = 0;
  const stage = createFormatCheckStage({
    isUnconstrained: () => false,
    checkText: (whole) => (whole === '{"a":1}' ? undefined : `not that: ${whole}`),
    holdBatch: () => assert.fail('there is nothing to wait for'),
    ...needs,
  });
  for (const event of [text('{"a"'), text(':2}'), end]) stage.push(event, () => passed++);
  return passed;
};

describe('createFormatCheckStage', () => {
  it('throws for a complete answer in another format', () => {
    assert.throws(() => run({ type: 'choice-end', choice: 0, reason: 'stop' }), /not that: {"a":2}/);
  });

  it('passes on an answer that a token limit or a stop sequence cut', () => {
    assert.equal(run({ type: 'choice-end', choice: 0, reason: 'length' }), 3);
    assert.equal(run({ type: 'choice-end', choice: 0, reason: 'stop', stop: '}' }), 3);
  });

  it('holds the batch for an asynchronous check', async () => {
    let pendingCheck: Promise<void> | undefined;
    const end = { type: 'choice-end', choice: 0, reason: 'stop' } as const;
    const holdBatch = (check: Promise<void>): void => void (pendingCheck = check);
    const passed = run(end, { checkText: async () => 'not that', holdBatch });
    assert.equal(passed, 3);
    await assert.rejects(pendingCheck ?? Promise.resolve(), /does not follow response_format: not that/);
  });

  it('treats an answer as unconstrained when any part of it is', () => {
    const wasFree: boolean[] = [];
    const end = { type: 'choice-end', choice: 0, reason: 'stop' } as const;
    for (const free of [true, false])
      run(end, { isUnconstrained: () => free, checkText: (_, isFree) => void wasFree.push(isFree) });
    assert.deepEqual(wasFree, [true, false]);
  });
});
