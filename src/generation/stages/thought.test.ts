import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { ChoiceEvent } from '../../core/event.ts';
import { createThoughtStage } from './thought.ts';

const pieces = (text: string, cuts: readonly number[]): string[] => {
  const cutPositions = [...new Set(cuts.map((cut) => cut % (text.length + 1)))].toSorted((a, b) => a - b);
  return [0, ...cutPositions].map((from, i) => text.slice(from, cutPositions[i] ?? text.length));
};

const run = (events: readonly ChoiceEvent[]): ChoiceEvent[] => {
  const out: ChoiceEvent[] = [];
  const stage = createThoughtStage([{ kind: 'thought' }, { kind: 'answer' }]);
  for (const event of events) stage.push(event, (passed) => out.push(passed));
  stage.end((passed) => out.push(passed));
  return out;
};

const textIn =
  (phase: number) =>
  (text: string): ChoiceEvent => ({ type: 'text', choice: 0, text, tokens: 1, phase });

describe('createThoughtStage', () => {
  it('converts thought text to reasoning without trailing blanks and leaves the answer unchanged, however both are split', () => {
    fc.assert(
      fc.property(fc.array(fc.nat()), fc.array(fc.nat()), (one, two) => {
        const thought = ' so \n\nwhat is 2+2?  four \n ';
        const answer = '\n Four.\n';
        const events = [...pieces(thought, one).map(textIn(0)), ...pieces(answer, two).map(textIn(1))];
        const out = run(events);
        const join = (type: 'reasoning' | 'text'): string =>
          out.map((event) => (event.type === type ? event.text : '')).join('');
        assert.equal(join('reasoning'), thought.trimEnd());
        assert.equal(join('text'), answer);
        const tokens = out.reduce((sum, event) => sum + ('tokens' in event ? event.tokens : 0), 0);
        assert.equal(tokens, events.length, 'no token goes uncounted');
      }),
    );
  });

  it('removes log probabilities', () => {
    const logprobs = [{ token: 'a', bytes: [97], logprob: -1, top: [] }];
    const [event] = run([{ type: 'text', choice: 0, text: 'a', tokens: 1, phase: 0, logprobs }]);
    assert.ok(event && !('logprobs' in event));
  });
});
