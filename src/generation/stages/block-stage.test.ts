import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { ChoiceEvent, GenerationEvent } from '../../core/event.ts';
import { createBlockStage } from './block-stage.ts';

const bracket = (events: readonly ChoiceEvent[], choice = 0): GenerationEvent[] => {
  const out: GenerationEvent[] = [];
  const stage = createBlockStage(choice);
  for (const event of events) stage.push(event, (event_) => out.push(event_));
  stage.end((event) => out.push(event));
  return out;
};

const text = (value: string): ChoiceEvent => ({ type: 'text', choice: 0, text: value, tokens: 1, phase: 0 });
const reasoning = (value: string): ChoiceEvent => ({ type: 'reasoning', choice: 0, text: value, tokens: 1 });
const call = (index: number): ChoiceEvent => ({ type: 'tool-call', choice: 0, index, id: `call_${index}`, name: 'f' });
const args = (index: number, value: string): ChoiceEvent => ({ type: 'tool-arguments', choice: 0, index, text: value });
const end: ChoiceEvent = { type: 'choice-end', choice: 0, reason: 'stop' };

describe('createBlockStage', () => {
  it('groups reasoning, text and calls into blocks in their order', () => {
    const events = bracket([reasoning('hm'), text('so'), text('!'), call(0), args(0, '{'), args(0, '}'), call(1), end]);
    assert.deepEqual(
      events.map((event) => ('index' in event ? `${event.type} ${event.index}` : event.type)),
      [
        'block-start 0',
        'block-delta 0',
        'block-end 0',
        'block-start 1',
        'block-delta 1',
        'block-delta 1',
        'block-end 1',
        'block-start 2',
        'block-delta 2',
        'block-delta 2',
        'block-end 2',
        'block-start 3',
        'block-end 3',
        'choice-end',
      ],
    );
  });

  it('emits blocks that do not overlap, numbered from 0 without gaps, with every character', () => {
    const word = fc.constantFrom('', 'a', 'bc');
    const run = fc.oneof(
      word.map((value) => [text(value)]),
      word.map((value) => [reasoning(value)]),
      fc.array(word).map((values) => [call(0), ...values.map((value) => args(0, value))]),
    );
    fc.assert(
      fc.property(fc.array(run), (runs) => {
        const flat = runs.flat();
        let open: number | undefined;
        let last = -1;
        let out = '';
        for (const event of bracket([...flat, end], 3)) {
          assert.ok('choice' in event && event.choice === 3);
          if (event.type === 'block-start') {
            assert.equal(open, undefined);
            open = event.index;
            assert.equal(event.index, ++last);
          } else if (event.type === 'block-delta') {
            assert.equal(event.index, open);
            assert.notEqual(event.text, '');
            out += event.text;
          } else if (event.type === 'block-end') {
            assert.equal(event.index, open);
            open = undefined;
          } else assert.deepEqual([event.type, open], ['choice-end', undefined]);
        }
        assert.equal(out, flat.map((event) => ('text' in event ? event.text : '')).join(''));
      }),
    );
  });

  it('passes on log probabilities, also of a token without text, and the stop string', () => {
    const logprobs = [{ token: 'a', bytes: [97], logprob: -1, top: [] }];
    assert.deepEqual(
      bracket([
        { type: 'text', choice: 0, text: '', tokens: 1, phase: 0, logprobs },
        { type: 'choice-end', choice: 0, reason: 'stop', stop: '##' },
      ]),
      [
        { type: 'block-start', choice: 0, index: 0, block: { type: 'text' } },
        { type: 'block-delta', choice: 0, index: 0, text: '', tokens: 1, logprobs },
        { type: 'block-end', choice: 0, index: 0 },
        { type: 'choice-end', choice: 0, reason: 'stop', stop: '##' },
      ],
    );
  });

  it('reports with each delta the tokens since the one before, including tokens of markup', () => {
    const silent: ChoiceEvent = { type: 'text', choice: 0, text: '', tokens: 3, phase: 0 };
    const tokens = bracket([text('a'), silent, call(0), args(0, '{'), silent, args(0, '}'), end]).map((event) =>
      event.type === 'block-delta' ? event.tokens : undefined,
    );
    assert.deepEqual(
      tokens.filter((count) => count !== undefined),
      [1, 3, 3],
    );
  });

  it('throws for events in an invalid order', () => {
    for (const events of [
      [text('a')],
      [],
      [end, text('late')],
      [end, end],
      [args(0, 'x'), end],
      [call(0), args(1, 'x'), end],
      [call(0), text('a'), args(0, 'x'), end],
    ])
      assert.throws(() => bracket(events), { kind: 'engine-failed' });
  });
});
