import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { scalePropertyRuns } from '../../../test/property-runs.ts';
import { Chunk, type WireChoice } from './chunk.ts';
import { parsePlainChoice } from './parse-plain-choice.ts';

const nothing = fc.constantFrom(null, undefined);
const odd = fc.constantFrom<unknown>('', 'stop', 0, 1, true, [], {}, { content: [] });
const usually = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 25, arbitrary: value }, { weight: 1, arbitrary: odd });
const text = fc.oneof(fc.string(), nothing);

const delta = fc.record(
  {
    role: fc.constantFrom('assistant', null),
    content: usually(text),
    reasoning_content: usually(text),
    reasoning: usually(text),
    refusal: usually(nothing),
    tool_calls: usually(nothing),
    function_call: usually(nothing),
  },
  { requiredKeys: [] },
);

const choice = fc.record(
  {
    index: usually(fc.constantFrom(0, 1, null, -1, 0.5, 2 ** 60)),
    delta: usually(delta),
    message: usually(nothing),
    finish_reason: usually(nothing),
    logprobs: usually(nothing),
    stop_reason: usually(nothing),
    matched_stop: usually(nothing),
    token_ids: fc.constantFrom(null, [1]),
  },
  { requiredKeys: ['delta'] },
);

const event = fc.record(
  {
    object: usually(fc.constantFrom<unknown>('chat.completion.chunk', 'error')),
    choices: usually(fc.array(usually(choice), { maxLength: 2 })),
    usage: usually(nothing),
    error: usually(nothing),
  },
  { requiredKeys: ['choices'] },
);

/** Returns the parsed choice without empty fields. */
const getPresentFields = (wire: WireChoice | undefined): unknown => {
  const { index, delta: choiceDelta, ...rest } = wire ?? {};
  const { content, reasoning_content, reasoning, ...more } = choiceDelta ?? {};
  const others = Object.values({ ...rest, ...more }).filter((value) => value !== null && value !== undefined);
  return [index ?? 0, content ?? '', reasoning_content ?? '', reasoning ?? '', others];
};

test('parses events as the schema does, or not at all', () => {
  const runs = scalePropertyRuns(3000);
  let read = 0;
  fc.assert(
    fc.property(event, (value) => {
      const sent: unknown = JSON.parse(JSON.stringify(value));
      const plain = parsePlainChoice(sent);
      if (!plain) return;
      read++;
      const chunk = Chunk.parse(sent);
      assert.equal(chunk.choices?.length, 1);
      assert.ok(!chunk.usage && !chunk.error && chunk.object !== 'error');
      assert.deepEqual(getPresentFields(plain), getPresentFields(chunk.choices?.[0]));
    }),
    { numRuns: runs },
  );
  assert.ok(read > runs / 60, `only ${read} events were read by hand`);
});

test('parses the events that servers send with every token', () => {
  const recorded = [
    // llama-server
    { choices: [{ finish_reason: null, index: 0, delta: { content: 'I' } }], created: 1, id: 'c', model: 'm' },
    // vllm
    { choices: [{ index: 0, delta: { content: 'I' }, logprobs: null, finish_reason: null, token_ids: null }] },
    // sglang
    {
      choices: [
        {
          index: 0,
          delta: { role: null, content: 'I', reasoning_content: null, tool_calls: null },
          logprobs: null,
          finish_reason: null,
          matched_stop: null,
        },
      ],
      usage: null,
    },
    // openai
    {
      choices: [{ index: 0, delta: { content: 'I' }, logprobs: null, finish_reason: null }],
      usage: null,
      obfuscation: 'x',
    },
  ];
  for (const sent of recorded) assert.equal(parsePlainChoice(sent)?.delta?.content, 'I');
  assert.equal(parsePlainChoice({ choices: [{ delta: {}, finish_reason: 'stop' }] }), undefined);
});
