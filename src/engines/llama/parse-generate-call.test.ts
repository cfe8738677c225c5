import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PHASES_MAX } from './limits.ts';
import { parseEmbeddingRequest } from '../field-checks.ts';
import { parseGenerateCall, parseRankingRequest } from './parse-generate-call.ts';

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
    {
      kind: 'thought',
      until: { tokens: 4, text: '</think>' },
      appendOnEnd: [{ text: '\n', special: false }],
      nextPhase: 1,
    },
    { kind: 'answer', triggers: [{ pattern: '<c>$', phase: 2 }] },
    {
      kind: 'call',
      nextPhase: 1,
      grammar: {
        type: 'sequence',
        parts: [
          {
            type: 'choice',
            options: [
              { type: 'text', text: 'a' },
              { type: 'without', characters: 'b' },
            ],
          },
          { type: 'schema', schema: { type: 'object' }, field: 'tools[0]' },
        ],
      },
    },
  ],
  markers: ['[TOOL_CALLS]'],
};

const phase = (more: object) => ({ kind: 'answer', ...more });

test('parseGenerateCall returns a valid call unchanged', () => {
  assert.equal(parseGenerateCall(CALL), CALL);
  const background = { ...CALL, owner: { ...CALL.owner, priority: 'background' } };
  assert.equal(parseGenerateCall(background).owner.priority, 'background');
});

test('parseGenerateCall rejects missing or invalid fields by name', () => {
  for (const [change, message] of [
    [{ owner: undefined }, /owner must be an object/],
    [{ owner: { workspace: 'w' } }, /owner\.key must be a string/],
    [
      { owner: { workspace: 'w', key: 'k', priority: 'high' } },
      /owner\.priority must be one of reserved, live, background/,
    ],
    [{ stop: undefined }, /stop must be an object/],
    [{ choices: 0 }, /choices must be a whole number from 1/],
    [{ choices: 'x' }, /choices/],
    [{ maxTokens: -5 }, /maxTokens/],
    [{ sampling: { temperature: 'hot' } }, /sampling\.temperature must be a number/],
    [{ sampling: { logitBias: [[-1, 1]] } }, /sampling\.logitBias\[0\]\[0\]/],
    [{ sampling: { logitBias: [[1.5, 1]] } }, /sampling\.logitBias\[0\]\[0\]/],
    [{ input: { type: 'segments', segments: [{ text: 'a' }] } }, /input\.segments\[0\]\.special/],
    [{ input: { type: 'other' } }, /input\.type/],
    [{ markers: [1] }, /markers\[0\] must be a string/],
    [{ phases: [{}] }, /phases\[0\]\.kind must be thought, answer or call/],
    [{ phases: [phase({ until: { tokens: 0 } })] }, /phases\[0\]\.until\.tokens/],
    [{ phases: [phase({ until: { text: '' } })] }, /phases\[0\]\.until\.text must not be empty/],
    [{ phases: [phase({ nextPhase: 1 })] }, /phases\[0\]\.nextPhase must be the position of one of 1 phases, got 1/],
    [{ phases: [phase({ triggers: [{ pattern: 'a', phase: -1 }] })] }, /phases\[0\]\.triggers\[0\]\.phase/],
    [{ phases: [phase({ triggers: [{ pattern: '(', phase: 0 }] })] }, /triggers\[0\]\.pattern must be a regular/],
    [{ phases: [phase({ grammar: 'root ::= "a"' })] }, /phases\[0\]\.grammar must be an object/],
    [{ phases: [phase({ grammar: { type: 'other' } })] }, /phases\[0\]\.grammar\.type must be text, schema/],
    [{ phases: [phase({ grammar: { type: 'schema', schema: 1, field: 'x' } })] }, /grammar\.schema must be an object/],
    [{ phases: [phase({ grammar: { type: 'sequence', parts: [{ type: 'text' }] } })] }, /grammar\.parts\[0\]\.text/],
    [{ phases: Array.from({ length: PHASES_MAX + 1 }, () => phase({})) }, /phases must be at most/],
    [{ stop: { strings: [''], tokens: [] } }, /stop\.strings\[0\] must not be empty/],
  ] as const) {
    assert.throws(() => parseGenerateCall({ ...CALL, ...change }), message);
  }
  for (const body of [null, [], 'x', undefined])
    assert.throws(() => parseGenerateCall(body), /the call must be an object/);
});

const EMBEDDING = { id: 'a', owner: CALL.owner, inputs: [{ text: 'Hi', field: 'input' }] };
const RANKING = { id: 'a', owner: CALL.owner, query: { text: 'q', field: 'query' }, documents: EMBEDDING.inputs };

test('parseEmbeddingRequest and parseRankingRequest return valid requests, and reject invalid fields by name', () => {
  assert.equal(parseEmbeddingRequest(EMBEDDING), EMBEDDING);
  assert.equal(parseRankingRequest(RANKING), RANKING);
  for (const [change, message] of [
    [{ inputs: [] }, /inputs must not be empty/],
    [{ inputs: 'Hi' }, /inputs must be an array/],
    [{ inputs: ['Hi'] }, /inputs\[0\] must be an object/],
    [{ inputs: [{ text: 1, field: 'input' }] }, /inputs\[0\]\.text must be a string/],
    [{ inputs: [{ text: 'Hi' }] }, /inputs\[0\]\.field must be a string/],
    [{ owner: { workspace: 'w' } }, /owner\.key/],
    [{ id: 5 }, /id must be a string/],
  ] as const)
    assert.throws(() => parseEmbeddingRequest({ ...EMBEDDING, ...change }), message);
  assert.throws(() => parseRankingRequest({ ...RANKING, query: 'q' }), /query must be an object/);
  assert.throws(() => parseRankingRequest({ ...RANKING, documents: [] }), /documents must not be empty/);
});
