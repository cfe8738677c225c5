import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { answered, CALL, events } from './__fixtures__/heard.ts';
import type { Dialect } from './dialect.ts';
import { SGLANG } from './sglang.ts';
import { VLLM } from './vllm.ts';

const chunk = (ids: readonly number[], text: string, more: object = {}): object => ({
  id: 'cmpl-1',
  object: 'text_completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, text, logprobs: null, finish_reason: null, stop_reason: null, token_ids: ids, ...more }],
});

const USAGE = {
  choices: [],
  usage: { prompt_tokens: 5, total_tokens: 9, prompt_tokens_details: { cached_tokens: 4 } },
};

/** 21 and 22 are halves of one character; 99 is the model's end. */
const VLLM_ANSWER = events(
  chunk([20], 'Hi'),
  chunk([21], ''),
  chunk([22, 23], '🦄 b'),
  chunk([24, 99], 'c', { finish_reason: 'stop' }),
  USAGE,
  '[DONE]',
);

const piece = (ids: readonly number[], text: string, count: number, reason: object | null = null): object => ({
  text,
  output_ids: ids,
  meta_info: { id: 'x', prompt_tokens: 5, completion_tokens: count, cached_tokens: 4, finish_reason: reason },
});

/** All so far with each event. */
const SGLANG_ANSWER = events(
  piece([20], 'Hi', 1),
  piece([20, 21], 'Hi', 2),
  piece([20, 21, 22, 23], 'Hi🦄 b', 4),
  piece([20, 21, 22, 23, 24, 99], 'Hi🦄 bc', 6, { type: 'stop', matched: 99 }),
  '[DONE]',
);

const EXPECTED = [[[20], 'Hi'], [[21, 22, 23], '🦄 b'], [[24], 'c'], { type: 'ended', reason: 'end', cachedTokens: 4 }];

const plainly = async (dialect: Dialect, body: string, options: Parameters<typeof answered>[2] = {}) => {
  const { heard, failure } = await answered(dialect, body, options);
  assert.equal(failure, undefined);
  return heard.map((one) => (one.type === 'tokens' ? [one.ids, one.text] : one));
};

for (const [name, dialect, body] of [
  ['vllm', VLLM, VLLM_ANSWER],
  ['sglang', SGLANG, SGLANG_ANSWER],
] as const)
  describe(`an answer of ${name}`, () => {
    it('tells tokens with their text, and the end without one', async () => {
      assert.deepEqual(await plainly(dialect, body), EXPECTED);
    });

    it('is the same however its bytes arrive', async () => {
      const whole = await answered(dialect, body);
      const places = fc.uniqueArray(fc.integer({ min: 1, max: Buffer.byteLength(body) - 1 }), { maxLength: 40 });
      await fc.assert(
        fc.asyncProperty(places, async (found) => {
          const cuts = found.toSorted((a, b) => a - b);
          assert.deepEqual(await answered(dialect, body, { cuts }), whole);
        }),
        { numRuns: 100 },
      );
    });

    it('is a failure where it breaks off', async () => {
      const { failure } = await answered(dialect, body.slice(0, body.lastIndexOf('data: ', body.length - 160)));
      assert.equal(failure?.kind, 'upstream-failed');
      assert.equal((await answered(dialect, events('[DONE]'))).failure?.kind, 'upstream-failed');
    });
  });

/** As v0.32.0 sent it, where we read slower than it wrote; log probabilities cut to three digits. */
const VLLM_RECORDED = events(
  '{"id":"cmpl-99acd3426db0eec9","object":"text_completion","created":1795309017,"model":"smol","choices":[{"index":0,"text":"The","logprobs":{"text_offset":[0],"token_logprobs":[-2.342],"tokens":["The"],"top_logprobs":[{"The":-2.342,"Paris":-2.842}]},"finish_reason":null,"stop_reason":null,"prompt_token_ids":[1,4093,198],"token_ids":[504]}]}',
  '{"id":"cmpl-99acd3426db0eec9","object":"text_completion","created":1795309017,"model":"smol","choices":[{"index":0,"text":" capital is Paris.","logprobs":{"text_offset":[3,11,14,20,21],"token_logprobs":[-0.193,-0.041,-0.542,-0.174,-0.502],"tokens":[" capital"," is"," Paris",".","<|im_end|>"],"top_logprobs":[{" capital":-0.193," French":-4.318},{" is":-0.041,",":-3.916},{" Paris":-0.542," France":-3.542},{".":-0.174,",":-2.174},{"<|im_end|>":-0.502,"\\n":-1.627}]},"finish_reason":"stop","stop_reason":null,"prompt_token_ids":null,"token_ids":[3575,314,7042,30,2]}]}',
  '{"id":"cmpl-99acd3426db0eec9","object":"text_completion","created":1795309017,"model":"smol","choices":[],"usage":{"prompt_tokens":14,"total_tokens":20,"completion_tokens":6,"prompt_tokens_details":{"cached_tokens":8}},"system_fingerprint":"vllm-0.32.0-2151f428"}',
  '[DONE]',
);

/** As v0.5.23 sent it, the middle left out. */
const SGLANG_RECORDED = events(
  '{"text":"The","output_ids":[504],"meta_info":{"id":"ba58","finish_reason":null,"prompt_tokens":14,"weight_version":"default","num_retractions":0,"reasoning_tokens":0,"completion_tokens":1,"cached_tokens":8,"cached_tokens_details":null,"dp_rank":null,"response_sent_to_client_ts":1795310190.017757}}',
  '{"text":"The end.","output_ids":[504,7042,30],"meta_info":{"id":"ba58","finish_reason":null,"prompt_tokens":14,"weight_version":"default","num_retractions":0,"reasoning_tokens":0,"completion_tokens":3,"cached_tokens":8,"cached_tokens_details":null,"dp_rank":null}}',
  '{"text":"The end.","output_ids":[504,7042,30,2],"meta_info":{"id":"ba58","finish_reason":{"type":"stop","matched":2},"prompt_tokens":14,"weight_version":"default","num_retractions":0,"reasoning_tokens":0,"completion_tokens":4,"cached_tokens":8,"weight_versions":[{"version":"default","start":0,"end":4}],"cached_tokens_details":null,"dp_rank":null,"e2e_latency":0.6533615049993386}}',
  '[DONE]',
);

describe('an answer as a real server sent it', () => {
  it('is read where vllm puts several tokens into one event, and its end among them', async () => {
    const { heard, failure } = await answered(VLLM, VLLM_RECORDED, { call: { logprobs: { top: 2 } } });
    assert.equal(failure, undefined);
    assert.deepEqual(
      heard.map((one) => (one.type === 'tokens' ? [one.ids, one.text, one.logprobs.map(({ token }) => token)] : one)),
      [
        [[504], 'The', ['The']],
        [[3575, 314, 7042, 30], ' capital is Paris.', [' capital', ' is', ' Paris', '.']],
        { type: 'ended', reason: 'end', cachedTokens: 8 },
      ],
    );
  });

  it('is read where sglang tells all so far, and its end by its id', async () => {
    assert.deepEqual(await plainly(SGLANG, SGLANG_RECORDED), [
      [[504], 'The'],
      [[7042, 30], ' end.'],
      { type: 'ended', reason: 'end', cachedTokens: 8 },
    ]);
  });
});

describe('an answer of vllm', () => {
  it('gives log probabilities that read as the text does, best first', async () => {
    const logprobs = {
      tokens: [' a'],
      token_logprobs: [-0.5],
      top_logprobs: [{ ' b': -2, ' a': -0.5, ' c': -9999 }],
    };
    const { heard } = await answered(VLLM, events(chunk([20], ' a', { logprobs, finish_reason: 'length' }), '[DONE]'), {
      call: { logprobs: { top: 3 } },
    });
    const [first] = heard;
    assert.ok(first?.type === 'tokens');
    assert.deepEqual(
      first.logprobs.map(({ token, logprob, top }) => [token, logprob, top.map((one) => [one.token, one.logprob])]),
      [
        [
          ' a',
          -0.5,
          [
            [' a', -0.5],
            [' b', -2],
            [' c', undefined],
          ],
        ],
      ],
    );
  });

  it('gives one log probability for a character whose halves came by themselves', async () => {
    const half = (logprob: number) => ({ logprobs: { tokens: ['\ufffd'], token_logprobs: [logprob] } });
    const { heard } = await answered(
      VLLM,
      events(chunk([21], '', half(-1)), chunk([22], '🦄', { ...half(-2), finish_reason: 'length' }), '[DONE]'),
      { call: { logprobs: { top: 0 } } },
    );
    assert.deepEqual(heard[0]?.type === 'tokens' && heard[0].logprobs, [
      { token: '🦄', bytes: [...Buffer.from('🦄')], logprob: -2, top: [] },
    ]);
  });

  it('is a failure where the server tells no token ids, or ends for a reason that nobody knows', async () => {
    const silent = await answered(VLLM, events({ choices: [{ index: 0, text: 'a', finish_reason: null }] }));
    assert.equal(silent.failure?.kind, 'upstream-failed');
    const aborted = await answered(VLLM, events(chunk([1], 'a', { finish_reason: 'abort' }), '[DONE]'));
    assert.equal(aborted.failure?.kind, 'upstream-failed');
  });

  it('follows a grammar in the words of each server', () => {
    const call = { ...CALL, gbnf: 'root ::= "a"' };
    assert.match(JSON.stringify(VLLM.body(call, 'm')), /"structured_outputs":\{"grammar":"root ::= \\"a\\""\}/);
    assert.match(JSON.stringify(SGLANG.body(call, 'm')), /"sampling_params":\{[^}]*"ebnf":"root ::= \\"a\\""\}/);
    assert.doesNotMatch(JSON.stringify([VLLM.body(CALL, 'm'), SGLANG.body(CALL, 'm')]), /grammar|ebnf/);
  });

  it('has its special tokens in the text where some of them are markers, and nowhere else', () => {
    const wordsOf = (dialect: Dialect, markers: ReadonlyMap<number, string>) =>
      JSON.stringify(dialect.body({ ...CALL, markers }, 'm')).match(/"(skip|spaces_between)_special_tokens":\w+/g);
    for (const dialect of [VLLM, SGLANG]) {
      assert.equal(wordsOf(dialect, new Map()), null);
      assert.deepEqual(wordsOf(dialect, new Map([[30, '<tool_call>']])), [
        '"skip_special_tokens":false',
        '"spaces_between_special_tokens":false',
      ]);
    }
  });
});

describe('an answer of sglang', () => {
  it('is read alike where events hold only the ids that are new', async () => {
    const body = events(
      piece([20], 'Hi', 1),
      piece([21], 'Hi', 2),
      piece([22, 23], 'Hi🦄 b', 4),
      piece([24, 99], 'Hi🦄 bc', 6, { type: 'stop', matched: 99 }),
    );
    assert.deepEqual(await plainly(SGLANG, body), EXPECTED);
  });

  it('is read alike where the server says that its texts are pieces, too', async () => {
    const body = events(
      piece([20], 'Hi', 1),
      piece([21], '', 2),
      piece([22, 23], '🦄 b', 4),
      piece([24, 99], 'c', 6, { type: 'stop', matched: 99 }),
    );
    assert.deepEqual(await plainly(SGLANG, body, { facts: { tellsPieces: true } }), EXPECTED);
  });

  it('passes on what an abort says', async () => {
    const { failure } = await answered(
      SGLANG,
      events(piece([20], 'Hi', 1, { type: 'abort', message: 'too long', status_code: 400 })),
    );
    assert.deepEqual([failure?.kind, failure?.message], ['invalid-request', 'too long']);
  });
});
