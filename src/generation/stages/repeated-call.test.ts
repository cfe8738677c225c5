import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EngineEvent } from '../../core/event.ts';
import { createRepeatedCall } from './repeated-call.ts';

type ChoiceEvent = Exclude<EngineEvent, { type: 'end' }>;

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

const run = (events: readonly ChoiceEvent[]): { out: ChoiceEvent[]; told: number } => {
  const out: ChoiceEvent[] = [];
  let told = 0;
  const stage = createRepeatedCall(
    {
      has: (name, args) => name === 'f' && args === '{"a":1}',
      hasBeginning: (name, args) => name === 'f' && '{"a":1}'.startsWith(args),
    },
    () => told++,
  );
  for (const event of events) stage.push(event, (passed) => out.push(passed));
  stage.end((passed) => out.push(passed));
  return { out, told };
};

describe('an answer’s first call', () => {
  it('is dropped with all that follows when its result is known, and what stood before it is kept', () => {
    const { out, told } = run([text('Hm. '), ...call(0, '{"a":1}'), text('x'), ...call(1, '{}'), end]);
    assert.deepEqual(out, [text('Hm. ')]);
    assert.equal(told, 1);
  });

  it('passes when it is another one, and so do all later ones', () => {
    const events = [text('Hm. '), ...call(0, '{"a":2}'), ...call(1, '{"a":1}'), end];
    assert.deepEqual(run(events), { out: events, told: 0 });
  });

  it('passes as soon as it is another one', () => {
    const other: ChoiceEvent = { type: 'tool-call', choice: 0, index: 0, id: 'call_0', name: 'g' };
    assert.deepEqual(run([other]).out, [other]);
    const begun = call(0, '{"b":1}').slice(0, 2);
    assert.deepEqual(run([...begun, ...call(0, '":1}').slice(1, 2)]).out.slice(0, 1), begun.slice(0, 1));
    assert.deepEqual(run(call(0, '{"a":1}').slice(0, 2)).out, [], 'it may still become the same');
  });

  it('passes when a limit cut it', () => {
    const events = [...call(0, '{"a":1}'), cut];
    assert.deepEqual(run(events), { out: events, told: 0 });
  });
});
