import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ServiceError } from '../../core/error.ts';
import type { ChoiceEvent, FinishReason } from '../../core/event.ts';
import { createCallArgumentsStage, type CallArgumentsOptions } from './call-arguments.ts';

const call = (index: number, name: string): ChoiceEvent => ({
  type: 'tool-call',
  choice: 0,
  index,
  id: `call_${index}`,
  name,
});
const args = (index: number, text: string): ChoiceEvent => ({ type: 'tool-arguments', choice: 0, index, text });
const end = (reason: FinishReason): ChoiceEvent => ({ type: 'choice-end', choice: 0, reason });

const PLAIN: CallArgumentsOptions = {
  isBuffered: () => false,
  isUnchecked: () => false,
  lacksGrammar: false,
  isUnconstrained: () => false,
  checkArguments: () => undefined,
  holdBatch: () => assert.fail('there is nothing to wait for'),
};

const run = (events: readonly ChoiceEvent[], needs: Partial<CallArgumentsOptions> = {}): ChoiceEvent[] => {
  const out: ChoiceEvent[] = [];
  const stage = createCallArgumentsStage({ ...PLAIN, ...needs });
  for (const event of events) stage.push(event, (passed) => out.push(passed));
  stage.end((passed) => out.push(passed));
  return out;
};

describe('createCallArgumentsStage', () => {
  const two = [
    call(0, 'f'),
    args(0, '{"a"'),
    args(0, ':1}'),
    call(1, 'g'),
    args(1, '{'),
    args(1, '}'),
    end('tool-calls'),
  ];

  it('emits arguments as they arrive', () => {
    assert.deepEqual(run(two), two);
  });

  it('emits buffered arguments in one piece before the next event', () => {
    const out = run(two, { isBuffered: (name) => name === 'f' });
    assert.deepEqual(out.slice(0, 3), [call(0, 'f'), args(0, '{"a":1}'), call(1, 'g')]);
    assert.deepEqual(out.slice(3), two.slice(4));
  });

  it('emits buffered arguments that a token limit cut', () => {
    const out = run([call(0, 'f'), args(0, '{"a'), end('length')], {
      isBuffered: () => true,
      checkArguments: () => 'cut',
    });
    assert.deepEqual(out, [call(0, 'f'), args(0, '{"a'), end('length')]);
  });

  it('throws for arguments that violate their schema and emits nothing of buffered ones', () => {
    const checkArguments = (_: string, text: string) => (text === '{}' ? '$.a is missing' : undefined);
    const out: ChoiceEvent[] = [];
    const stage = createCallArgumentsStage({ ...PLAIN, isBuffered: () => true, checkArguments });
    assert.throws(
      () =>
        [call(0, 'f'), args(0, '{}'), end('tool-calls')].forEach((event) => stage.push(event, (one) => out.push(one))),
      (error) =>
        error instanceof ServiceError && error.kind === 'engine-failed' && error.message.includes('$.a is missing'),
    );
    assert.deepEqual(out, [call(0, 'f')]);
  });

  it('emits arguments without a grammar as the object that they are or contain', () => {
    const object = '{"a":{}}';
    for (const [pieces, expected] of [
      [['{"a"', ':{}}'], object],
      [[JSON.stringify(object)], object],
      [['null'], '{}'],
      [['""'], '{}'],
      [[], '{}'],
    ] as const) {
      const callEvents = [call(0, 'f'), ...pieces.map((piece) => args(0, piece)), end('tool-calls')];
      assert.deepEqual(run(callEvents, { lacksGrammar: true }), [call(0, 'f'), args(0, expected), end('tool-calls')]);
    }
  });

  it('throws for arguments that are not an object and emits nothing of them', () => {
    for (const text of ['[1]', '"x"', '{"a": ', '{"a": "x\n</tool_call>', '7', '"[1]"', 'nonsense']) {
      const out: ChoiceEvent[] = [];
      const stage = createCallArgumentsStage({ ...PLAIN, lacksGrammar: true });
      assert.throws(
        () => [call(0, 'f'), args(0, text), end('tool-calls')].forEach((one) => stage.push(one, (e) => out.push(e))),
        (error) =>
          error instanceof ServiceError && error.kind === 'engine-failed' && /not a JSON object/.test(error.message),
      );
      assert.deepEqual(out, [call(0, 'f')]);
    }
  });

  it('completes arguments when text follows, not at an event that only counts tokens', () => {
    const counted: ChoiceEvent = { type: 'text', choice: 0, text: '', tokens: 3, phase: 0 };
    const checkedTexts: string[] = [];
    const checkArguments = (_: string, text: string): undefined => void checkedTexts.push(text);
    run([call(0, 'f'), args(0, '{'), counted, args(0, '}'), { ...counted, text: 'Done' }, end('tool-calls')], {
      checkArguments,
    });
    assert.deepEqual(checkedTexts, ['{}']);
  });

  it('emits arguments before an asynchronous check ends and leaves its result to holdBatch', async () => {
    const waiting: Promise<void>[] = [];
    const checkArguments = async (name: string) => (name === 'g' ? '$.a is missing' : undefined);
    const out = run(two, { checkArguments, holdBatch: (check) => void waiting.push(check) });
    assert.deepEqual(out, two);
    const [f, g] = waiting;
    await f;
    await assert.rejects(g ?? Promise.resolve(), (error) => {
      return error instanceof ServiceError && error.kind === 'engine-failed' && error.message.includes('called g');
    });
  });

  it('treats arguments as unconstrained when any part of them is', () => {
    let isFree = false;
    const checked: [string, boolean][] = [];
    const stage = createCallArgumentsStage({
      ...PLAIN,
      isUnconstrained: () => isFree,
      checkArguments: (_, text, wasFree) => void checked.push([text, wasFree]),
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
    assert.deepEqual(checked, [
      ['{}', true],
      ['{}', false],
    ]);
  });
});
