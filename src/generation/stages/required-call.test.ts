import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EngineEvent } from '../../core/event.ts';
import { createRequiredCall } from './required-call.ts';

type ChoiceEvent = Exclude<EngineEvent, { type: 'end' }>;

const TEXT: ChoiceEvent = { type: 'text', choice: 0, text: 'Hello', tokens: 1, phase: 0 };
const CALL: ChoiceEvent = { type: 'tool-call', choice: 0, index: 0, id: 'c', name: 'f' };
const ended = (reason: 'stop' | 'length' | 'tool-calls'): ChoiceEvent => ({ type: 'choice-end', choice: 0, reason });

function passed(...events: readonly ChoiceEvent[]): readonly ChoiceEvent[] {
  const stage = createRequiredCall();
  const out: ChoiceEvent[] = [];
  for (const event of events) stage.push(event, (each) => out.push(each));
  return out;
}

test('an answer with its call passes, also one that a limit cut off before it', () => {
  for (const events of [
    [TEXT, CALL, ended('tool-calls')],
    [TEXT, ended('length')],
  ])
    assert.deepEqual(passed(...events), events);
});

test('words alone are a failure, and never a success without the call', () => {
  assert.throws(() => passed(TEXT, ended('stop')), { kind: 'upstream-failed' });
  assert.throws(() => passed(ended('stop')), { kind: 'upstream-failed' });
});
