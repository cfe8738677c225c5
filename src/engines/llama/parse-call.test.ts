import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseCall } from './parse-call.ts';

const CALL = {
  id: 'a',
  owner: { workspace: 'w', key: 'k' },
  input: { type: 'segments', segments: [{ text: 'Hi', special: false }] },
  sampling: { temperature: 0.5, logitBias: [[5, -100]], seed: 1 },
  stop: { strings: ['x'], tokens: [[1, 2]] },
  choices: 1,
  maxTokens: 3,
  logprobs: { top: 2 },
  phases: [
    { until: { tokens: 4, text: '</think>' }, thenAppend: [{ text: '\n', special: false }] },
    { grammar: 'root ::= "a"' },
  ],
};

test('a whole call is taken as it is', () => {
  assert.equal(parseCall(CALL), CALL);
});

test('whatever is missing or wrong is refused by name', () => {
  for (const [change, says] of [
    [{ owner: undefined }, /owner must be an object/],
    [{ owner: { workspace: 'w' } }, /owner\.key must be a string/],
    [{ stop: undefined }, /stop must be an object/],
    [{ choices: 0 }, /choices must be a whole number from 1/],
    [{ choices: 'x' }, /choices/],
    [{ maxTokens: -5 }, /maxTokens/],
    [{ sampling: { temperature: 'hot' } }, /sampling\.temperature must be a number/],
    [{ sampling: { logitBias: [[-1, 1]] } }, /sampling\.logitBias\[0\]\[0\]/],
    [{ sampling: { logitBias: [[1.5, 1]] } }, /sampling\.logitBias\[0\]\[0\]/],
    [{ input: { type: 'segments', segments: [{ text: 'a' }] } }, /input\.segments\[0\]\.special/],
    [{ input: { type: 'other' } }, /input\.type/],
    [{ phases: [{ until: { tokens: 0 } }] }, /phases\[0\]\.until\.tokens/],
    [{ stop: { strings: [''], tokens: [] } }, /stop\.strings\[0\] must not be empty/],
  ] as const) {
    assert.throws(() => parseCall({ ...CALL, ...change }), says);
  }
  for (const body of [null, [], 'x', undefined]) assert.throws(() => parseCall(body), /the call must be an object/);
});
