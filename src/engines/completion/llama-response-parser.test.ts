import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { scalePropertyRuns } from '../../../test/property-runs.ts';
import { parseTestResponse, encodeStream } from './__fixtures__/parse-test-response.ts';
import { LLAMA_DIALECT } from './llama-dialect.ts';
import type { CompletionEvent } from './completion-dialect.ts';

const getReason = (event: CompletionEvent): string | undefined => (event.type === 'ended' ? event.reason : undefined);

const token = (id: number, content: string, predicted: number, more: object = {}): object => ({
  index: 0,
  content,
  tokens: [id],
  stop: false,
  id_slot: -1,
  tokens_predicted: predicted,
  tokens_evaluated: 11,
  ...more,
});

const probability = (text: string, logprob: number, top: readonly object[] = []): object => ({
  id: 0,
  token: text,
  bytes: [...Buffer.from(text)],
  logprob,
  top_logprobs: top,
});

const progress = (cache: number): object => ({
  ...token(0, '', 0),
  prompt_progress: { total: 11, cache, processed: cache, time_ms: 0 },
});

const last = (kind: string, predicted: number): object => ({
  content: '',
  tokens: [],
  stop: true,
  stop_type: kind,
  tokens_predicted: predicted,
  timings: { cache_n: 7, prompt_n: 4 },
});

/** Response of a server of 2026: three tokens of one character are reported with the third. */
const ANSWER = encodeStream(
  progress(0),
  progress(7),
  token(57, 'I', 1, { completion_probabilities: [probability('I', -2.1, [probability('The', -2.0)])] }),
  token(222, ' 🦄', 4, { completion_probabilities: [probability(' 🦄', -0.5)] }),
  token(18, "'é", 5),
  last('limit', 5),
);

describe('llama-server response parser', () => {
  it('emits each token with its text, and the reason for the end', async () => {
    const { events, acceptances, failure } = await parseTestResponse(LLAMA_DIALECT, ANSWER, {
      call: { logprobs: { top: 1 } },
    });
    assert.equal(failure, undefined);
    assert.deepEqual(acceptances, [{ cachedTokens: 0 }, { cachedTokens: 7 }]);
    assert.deepEqual(
      events.map((one) => (one.type === 'tokens' ? [one.ids, one.lastId, one.count, one.text] : one)),
      [
        [[57], 57, 1, 'I'],
        [undefined, 222, 3, ' 🦄'],
        [[18], 18, 1, "'é"],
        { type: 'ended', reason: 'length', cachedTokens: 7 },
      ],
    );
    assert.deepEqual(events[0]?.type === 'tokens' && events[0].logprobs, [
      {
        token: 'I',
        bytes: [73],
        logprob: -2.1,
        top: [{ token: 'The', bytes: [...Buffer.from('The')], logprob: -2.0 }],
      },
    ]);
  });

  it('emits the same events however the bytes are cut', async () => {
    const whole = await parseTestResponse(LLAMA_DIALECT, ANSWER);
    const length = Buffer.byteLength(ANSWER);
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(fc.integer({ min: 1, max: length - 1 }), { maxLength: 40 }), async (places) => {
        const cuts = places.toSorted((a, b) => a - b);
        assert.deepEqual(await parseTestResponse(LLAMA_DIALECT, ANSWER, { cuts }), whole);
      }),
      { numRuns: scalePropertyRuns(200) },
    );
    const everywhere = Array.from({ length: length - 1 }, (_, at) => at + 1);
    assert.deepEqual(await parseTestResponse(LLAMA_DIALECT, ANSWER, { cuts: everywhere }), whole);
  });

  it('neither emits nor counts the end token of the model', async () => {
    const { events } = await parseTestResponse(
      LLAMA_DIALECT,
      encodeStream(token(5, 'Yes.', 1), token(2, '', 2), last('eos', 2)),
    );
    assert.deepEqual(
      events.map(({ type }) => type),
      ['tokens', 'ended'],
    );
    assert.deepEqual(events.at(-1), { type: 'ended', reason: 'end', cachedTokens: 7 });
  });

  it('counts a special token without text, and continues', async () => {
    const { events } = await parseTestResponse(
      LLAMA_DIALECT,
      encodeStream(token(1, '', 1), token(5, 'Yes', 2), token(2, '', 3), last('eos', 3)),
    );
    assert.deepEqual(
      events.map((one) => (one.type === 'tokens' ? [one.lastId, one.count, one.text] : getReason(one))),
      [[1, 1, ''], [5, 1, 'Yes'], 'end'],
    );
  });

  it('emits a marker as text', async () => {
    const { events } = await parseTestResponse(LLAMA_DIALECT, encodeStream(token(9, '', 1), last('limit', 1)), {
      call: { markers: new Map([[9, '<tool_call>']]) },
    });
    assert.equal(events[0]?.type === 'tokens' && events[0].text, '<tool_call>');
  });

  it('ends with a requested end token, whatever follows', async () => {
    const { events, failure } = await parseTestResponse(
      LLAMA_DIALECT,
      encodeStream(token(5, 'Yes', 1), token(9, '<end>', 2), token(5, 'Yes', 3)),
      { call: { endTokens: [9] } },
    );
    assert.equal(failure, undefined);
    assert.deepEqual(
      events.map((one) => (one.type === 'tokens' ? one.text : getReason(one))),
      ['Yes', 'end'],
    );
  });

  it('counts the tokens of a character that a limit or the end cut', async () => {
    const cut = await parseTestResponse(LLAMA_DIALECT, encodeStream(token(5, 'a', 1), last('limit', 3)));
    assert.deepEqual(
      cut.events.map((one) => (one.type === 'tokens' ? [one.count, one.text, one.ids?.length] : getReason(one))),
      [[1, 'a', 1], [2, '', undefined], 'length'],
    );
    const ended = await parseTestResponse(LLAMA_DIALECT, encodeStream(token(5, 'a', 1), last('eos', 3)));
    assert.equal(ended.events[1]?.type === 'tokens' && ended.events[1].count, 1);
  });

  for (const [what, body, kind] of [
    ['nothing at all', '', 'upstream-failed'],
    ['an end without a word of why', encodeStream(token(5, 'a', 1)), 'upstream-failed'],
    ['an end for no reason', encodeStream(token(5, 'a', 1), last('none', 1)), 'upstream-failed'],
    ['garbage', encodeStream(token(5, 'a', 1), '{oops'), 'upstream-failed'],
    ['another form', encodeStream({ choices: [] }), 'upstream-failed'],
    ['an error', encodeStream(token(5, 'a', 1), { error: { code: 503, message: 'busy' } }), 'overloaded'],
  ] as const)
    it(`fails when the server sends ${what}`, async () => {
      const { events, failure } = await parseTestResponse(LLAMA_DIALECT, body);
      assert.equal(failure?.kind, kind);
      assert.ok(events.every(({ type }) => type === 'tokens'));
    });
});
