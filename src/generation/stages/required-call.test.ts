import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ChoiceEvent } from '../../core/event.ts';
import { createRequiredCallStage } from './required-call.ts';

const TEXT: ChoiceEvent = { type: 'text', choice: 0, text: 'Hello', tokens: 1, phase: 0 };
const CALL: ChoiceEvent = { type: 'tool-call', choice: 0, index: 0, id: 'c', name: 'f' };
const ended = (reason: 'stop' | 'length' | 'tool-calls'): ChoiceEvent => ({ type: 'choice-end', choice: 0, reason });

function passed(...events: readonly ChoiceEvent[]): readonly ChoiceEvent[] {
  const stage = createRequiredCallStage();
  const out: ChoiceEvent[] = [];
  for (const event of events) stage.push(event, (each) => out.push(each));
  return out;
}

test('createRequiredCallStage passes on an answer with a call, and one that a token limit cut', () => {
  for (const events of [
    [TEXT, CALL, ended('tool-calls')],
    [TEXT, ended('length')],
  ])
    assert.deepEqual(passed(...events), events);
});

test('createRequiredCallStage throws for an answer without a call', () => {
  assert.throws(() => passed(TEXT, ended('stop')), { kind: 'upstream-failed' });
  assert.throws(() => passed(ended('stop')), { kind: 'upstream-failed' });
});
