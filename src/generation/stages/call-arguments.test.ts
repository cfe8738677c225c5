import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ServiceError } from '../../core/error.ts';
import type { EngineEvent, FinishReason } from '../../core/event.ts';
import { createCallArguments } from './call-arguments.ts';
import type { CallArgumentsNeeds } from './call-arguments.ts';

type ChoiceEvent = Exclude<EngineEvent, { type: 'end' }>;

const call = (index: number, name: string): ChoiceEvent => ({
  type: 'tool-call',
  choice: 0,
  index,
  id: `call_${index}`,
  name,
});
const args = (index: number, text: string): ChoiceEvent => ({ type: 'tool-arguments', choice: 0, index, text });
const end = (reason: FinishReason): ChoiceEvent => ({ type: 'choice-end', choice: 0, reason });

const run = (events: readonly ChoiceEvent[], needs: Partial<CallArgumentsNeeds> = {}): ChoiceEvent[] => {
  const out: ChoiceEvent[] = [];
  const stage = createCallArguments({ isHeld: () => false, problemOf: () => undefined, ...needs });
  for (const event of events) stage.push(event, (passed) => out.push(passed));
  stage.end((passed) => out.push(passed));
  return out;
};

describe('arguments of calls', () => {
  const two = [
    call(0, 'f'),
    args(0, '{"a"'),
    args(0, ':1}'),
    call(1, 'g'),
    args(1, '{'),
    args(1, '}'),
    end('tool-calls'),
  ];

  it('are told as they come', () => {
    assert.deepEqual(run(two), two);
  });

  it('of a held tool are told at once, before what follows', () => {
    const out = run(two, { isHeld: (name) => name === 'f' });
    assert.deepEqual(out.slice(0, 3), [call(0, 'f'), args(0, '{"a":1}'), call(1, 'g')]);
    assert.deepEqual(out.slice(3), two.slice(4));
  });

  it('of a held tool that a limit cuts are told as far as they got', () => {
    const out = run([call(0, 'f'), args(0, '{"a'), end('length')], { isHeld: () => true, problemOf: () => 'cut' });
    assert.deepEqual(out, [call(0, 'f'), args(0, '{"a'), end('length')]);
  });

  it('that break their schema end the answer, held ones before a word of them', () => {
    const problemOf = (_: string, text: string) => (text === '{}' ? '$.a is missing' : undefined);
    const out: ChoiceEvent[] = [];
    const stage = createCallArguments({ isHeld: () => true, problemOf });
    assert.throws(
      () =>
        [call(0, 'f'), args(0, '{}'), end('tool-calls')].forEach((event) => stage.push(event, (one) => out.push(one))),
      (error) =>
        error instanceof ServiceError && error.kind === 'engine-failed' && error.message.includes('$.a is missing'),
    );
    assert.deepEqual(out, [call(0, 'f')]);
  });

  it('are complete when text with words follows, not when markup is only counted', () => {
    const counted: ChoiceEvent = { type: 'text', choice: 0, text: '', tokens: 3, phase: 0 };
    const seen: string[] = [];
    const problemOf = (_: string, text: string): undefined => void seen.push(text);
    run([call(0, 'f'), args(0, '{'), counted, args(0, '}'), { ...counted, text: 'Done' }, end('tool-calls')], {
      problemOf,
    });
    assert.deepEqual(seen, ['{}']);
  });
});
