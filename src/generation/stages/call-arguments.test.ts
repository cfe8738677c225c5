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

const PLAIN: CallArgumentsNeeds = {
  isHeld: () => false,
  isLoose: false,
  isFree: () => false,
  problemOf: () => undefined,
  verify: () => assert.fail('there is nothing to wait for'),
};

const run = (events: readonly ChoiceEvent[], needs: Partial<CallArgumentsNeeds> = {}): ChoiceEvent[] => {
  const out: ChoiceEvent[] = [];
  const stage = createCallArguments({ ...PLAIN, ...needs });
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
    const stage = createCallArguments({ ...PLAIN, isHeld: () => true, problemOf });
    assert.throws(
      () =>
        [call(0, 'f'), args(0, '{}'), end('tool-calls')].forEach((event) => stage.push(event, (one) => out.push(one))),
      (error) =>
        error instanceof ServiceError && error.kind === 'engine-failed' && error.message.includes('$.a is missing'),
    );
    assert.deepEqual(out, [call(0, 'f')]);
  });

  it('that nothing holds to a form are told as the object that they are or that they say, at once', () => {
    const object = '{"a":{}}';
    for (const [pieces, expected] of [
      [['{"a"', ':{}}'], object],
      [[JSON.stringify(object)], object],
      [['null'], '{}'],
      [['""'], '{}'],
      [[], '{}'],
    ] as const) {
      const asked = [call(0, 'f'), ...pieces.map((piece) => args(0, piece)), end('tool-calls')];
      assert.deepEqual(run(asked, { isLoose: true }), [call(0, 'f'), args(0, expected), end('tool-calls')]);
    }
  });

  it('that are no object end the answer, before a word of them', () => {
    for (const text of ['[1]', '"x"', '{"a": ', '{"a": "x\n</tool_call>', '7', '"[1]"', 'nonsense']) {
      const out: ChoiceEvent[] = [];
      const stage = createCallArguments({ ...PLAIN, isLoose: true });
      assert.throws(
        () => [call(0, 'f'), args(0, text), end('tool-calls')].forEach((one) => stage.push(one, (e) => out.push(e))),
        (error) =>
          error instanceof ServiceError && error.kind === 'engine-failed' && /no JSON object/.test(error.message),
      );
      assert.deepEqual(out, [call(0, 'f')]);
    }
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

  it('are told before somebody else has looked at them, and what comes of that is for who waits', async () => {
    const waiting: Promise<void>[] = [];
    const problemOf = async (name: string) => (name === 'g' ? '$.a is missing' : undefined);
    const out = run(two, { problemOf, verify: (seen) => void waiting.push(seen) });
    assert.deepEqual(out, two);
    const [f, g] = waiting;
    await f;
    await assert.rejects(g ?? Promise.resolve(), (error) => {
      return error instanceof ServiceError && error.kind === 'engine-failed' && error.message.includes('called g');
    });
  });

  it('count as free where a part of them is', () => {
    let isFree = false;
    const seen: [string, boolean][] = [];
    const stage = createCallArguments({
      ...PLAIN,
      isFree: () => isFree,
      problemOf: (_, text, wasFree) => void seen.push([text, wasFree]),
    });
    for (const [event, nowFree] of [
      [call(0, 'f'), true],
      [args(0, '{'), false],
      [args(0, '}'), true],
      [call(1, 'g'), true],
      [args(1, '{}'), false],
      [end('tool-calls'), true],
    ] as const) {
      isFree = nowFree;
      stage.push(event, () => undefined);
    }
    assert.deepEqual(seen, [
      ['{}', true],
      ['{}', false],
    ]);
  });
});
