import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ChoiceEvent } from '../../core/event.ts';
import { createRepeatedCallStage } from './repeated-call.ts';

const text = (value: string): Extract<ChoiceEvent, { type: 'text' }> => ({
  type: 'text',
  choice: 0,
  text: value,
  tokens: 1,
  phase: 0,
});
const call = (index: number, args: string): ChoiceEvent[] => [
  { type: 'tool-call', choice: 0, index, id: `call_${index}`, name: 'f' },
  { type: 'tool-arguments', choice: 0, index, text: args.slice(0, 2) },
  { ...text(''), tokens: 3 },
  { type: 'tool-arguments', choice: 0, index, text: args.slice(2) },
];
const end: ChoiceEvent = { type: 'choice-end', choice: 0, reason: 'tool-calls' };
const cut: ChoiceEvent = { type: 'choice-end', choice: 0, reason: 'length' };

const run = (events: readonly ChoiceEvent[]): { out: ChoiceEvent[]; repeats: number } => {
  const out: ChoiceEvent[] = [];
  let repeats = 0;
  const stage = createRepeatedCallStage(
    {
      has: (name, args) => name === 'f' && args === '{"a":1}',
      hasPrefix: (name, args) => name === 'f' && '{"a":1}'.startsWith(args),
    },
    () => repeats++,
  );
  for (const event of events) stage.push(event, (passed) => out.push(passed));
  stage.end((passed) => out.push(passed));
  return { out, repeats };
};

describe('createRepeatedCallStage', () => {
  it('drops a call whose result is known with everything after it and keeps the text before it', () => {
    const { out, repeats } = run([text('Hm. '), ...call(0, '{"a":1}'), text('x'), ...call(1, '{}'), end]);
    assert.deepEqual(out, [text('Hm. ')]);
    assert.equal(repeats, 1);
  });

  it('passes on another call and all later ones', () => {
    const events = [text('Hm. '), ...call(0, '{"a":2}'), ...call(1, '{"a":1}'), end];
    assert.deepEqual(run(events), { out: events, repeats: 0 });
  });

  it('passes a call on as soon as it differs', () => {
    const other: ChoiceEvent = { type: 'tool-call', choice: 0, index: 0, id: 'call_0', name: 'g' };
    assert.deepEqual(run([other]).out, [other]);
    const firstEvents = call(0, '{"b":1}').slice(0, 2);
    assert.deepEqual(run([...firstEvents, ...call(0, '":1}').slice(1, 2)]).out.slice(0, 1), firstEvents.slice(0, 1));
    assert.deepEqual(run(call(0, '{"a":1}').slice(0, 2)).out, [], 'it may still become the same');
  });

  it('passes on a call that a token limit cut', () => {
    const events = [...call(0, '{"a":1}'), cut];
    assert.deepEqual(run(events), { out: events, repeats: 0 });
  });
});
