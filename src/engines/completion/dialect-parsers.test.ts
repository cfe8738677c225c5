import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parseTestResponse, TEST_CALL, encodeStream } from './__fixtures__/parse-test-response.ts';
import type { TokenLogprob } from '../../core/event.ts';
import type { CompletionDialect } from './completion-dialect.ts';
import { SGLANG_DIALECT } from './sglang-dialect.ts';
import { VLLM_DIALECT } from './vllm-dialect.ts';

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

/** Tokens 21 and 22 are halves of one character; 99 is the model's end token. */
const VLLM_ANSWER = encodeStream(
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

/** Each event holds all text so far. */
const SGLANG_ANSWER = encodeStream(
  piece([20], 'Hi', 1),
  piece([20, 21], 'Hi', 2),
  piece([20, 21, 22, 23], 'Hi🦄 b', 4),
  piece([20, 21, 22, 23, 24, 99], 'Hi🦄 bc', 6, { type: 'stop', matched: 99 }),
  '[DONE]',
);

const EXPECTED_TOKENS = [
  [[20], 'Hi'],
  [[21, 22, 23], '🦄 b'],
  [[24], 'c'],
];

/** vLLM reports the cached tokens at the end, SGLang with each event. */
const VLLM_EVENTS = [...EXPECTED_TOKENS, { type: 'ended', reason: 'end', cachedTokens: 4 }];
const SGLANG_EVENTS = [{ type: 'cached', tokens: 4 }, ...EXPECTED_TOKENS, { type: 'ended', reason: 'end' }];

const parsePlain = async (
  dialect: CompletionDialect,
  body: string,
  options: Parameters<typeof parseTestResponse>[2] = {},
) => {
  const { events, failure } = await parseTestResponse(dialect, body, options);
  assert.equal(failure, undefined);
  return events.map((one) => (one.type === 'tokens' ? [one.ids, one.text] : one));
};

for (const [name, dialect, body, expected] of [
  ['vllm', VLLM_DIALECT, VLLM_ANSWER, VLLM_EVENTS],
  ['sglang', SGLANG_DIALECT, SGLANG_ANSWER, SGLANG_EVENTS],
] as const)
  describe(`${name} response parser`, () => {
    it('emits tokens with their text, and the end token not', async () => {
      assert.deepEqual(await parsePlain(dialect, body), expected);
    });

    it('emits the same events however the bytes are cut', async () => {
      const whole = await parseTestResponse(dialect, body);
      const places = fc.uniqueArray(fc.integer({ min: 1, max: Buffer.byteLength(body) - 1 }), { maxLength: 40 });
      await fc.assert(
        fc.asyncProperty(places, async (found) => {
          const cuts = found.toSorted((a, b) => a - b);
          assert.deepEqual(await parseTestResponse(dialect, body, { cuts }), whole);
        }),
      );
    });

    it('fails when the response breaks off', async () => {
      const { failure } = await parseTestResponse(
        dialect,
        body.slice(0, body.lastIndexOf('data: ', body.length - 160)),
      );
      assert.equal(failure?.kind, 'upstream-failed');
      assert.equal((await parseTestResponse(dialect, encodeStream('[DONE]'))).failure?.kind, 'upstream-failed');
    });
  });

/** Response of v0.32.0, read more slowly than it was sent; log probabilities rounded to three digits. */
const VLLM_RECORDED = encodeStream(
  '{"id":"cmpl-99acd3426db0eec9","object":"text_completion","created":1795309017,"model":"smol","choices":[{"index":0,"text":"The","logprobs":{"text_offset":[0],"token_logprobs":[-2.342],"tokens":["The"],"top_logprobs":[{"The":-2.342,"Paris":-2.842}]},"finish_reason":null,"stop_reason":null,"prompt_token_ids":[1,4093,198],"token_ids":[504]}]}',
  '{"id":"cmpl-99acd3426db0eec9","object":"text_completion","created":1795309017,"model":"smol","choices":[{"index":0,"text":" capital is Paris.","logprobs":{"text_offset":[3,11,14,20,21],"token_logprobs":[-0.193,-0.041,-0.542,-0.174,-0.502],"tokens":[" capital"," is"," Paris",".","<|im_end|>"],"top_logprobs":[{" capital":-0.193," French":-4.318},{" is":-0.041,",":-3.916},{" Paris":-0.542," France":-3.542},{".":-0.174,",":-2.174},{"<|im_end|>":-0.502,"\\n":-1.627}]},"finish_reason":"stop","stop_reason":null,"prompt_token_ids":null,"token_ids":[3575,314,7042,30,2]}]}',
  '{"id":"cmpl-99acd3426db0eec9","object":"text_completion","created":1795309017,"model":"smol","choices":[],"usage":{"prompt_tokens":14,"total_tokens":20,"completion_tokens":6,"prompt_tokens_details":{"cached_tokens":8}},"system_fingerprint":"vllm-0.32.0-2151f428"}',
  '[DONE]',
);

/** Response of v0.5.23, without its middle. */
const SGLANG_RECORDED = encodeStream(
  '{"text":"The","output_ids":[504],"meta_info":{"id":"ba58","finish_reason":null,"prompt_tokens":14,"weight_version":"default","num_retractions":0,"reasoning_tokens":0,"completion_tokens":1,"cached_tokens":8,"cached_tokens_details":null,"dp_rank":null,"response_sent_to_client_ts":1795310190.017757}}',
  '{"text":"The end.","output_ids":[504,7042,30],"meta_info":{"id":"ba58","finish_reason":null,"prompt_tokens":14,"weight_version":"default","num_retractions":0,"reasoning_tokens":0,"completion_tokens":3,"cached_tokens":8,"cached_tokens_details":null,"dp_rank":null}}',
  '{"text":"The end.","output_ids":[504,7042,30,2],"meta_info":{"id":"ba58","finish_reason":{"type":"stop","matched":2},"prompt_tokens":14,"weight_version":"default","num_retractions":0,"reasoning_tokens":0,"completion_tokens":4,"cached_tokens":8,"weight_versions":[{"version":"default","start":0,"end":4}],"cached_tokens_details":null,"dp_rank":null,"e2e_latency":0.6533615049993386}}',
  '[DONE]',
);

describe('recorded responses', () => {
  it('parses a vllm event with several tokens, including the end token', async () => {
    const { events, failure } = await parseTestResponse(VLLM_DIALECT, VLLM_RECORDED, {
      call: { logprobs: { top: 2 } },
    });
    assert.equal(failure, undefined);
    assert.deepEqual(
      events.map((one) => {
        if (one.type === 'ended') return [one.reason, one.cachedTokens, one.endLogprob?.token];
        return one.type === 'tokens' ? [one.ids, one.text, one.logprobs.map(({ token }) => token)] : one;
      }),
      [
        [[504], 'The', ['The']],
        [[3575, 314, 7042, 30], ' capital is Paris.', [' capital', ' is', ' Paris', '.']],
        ['end', 8, '<|im_end|>'],
      ],
    );
  });

  it('parses cumulative sglang events, and recognizes the end by its token id', async () => {
    assert.deepEqual(await parsePlain(SGLANG_DIALECT, SGLANG_RECORDED), [
      { type: 'cached', tokens: 8 },
      [[504], 'The'],
      [[7042, 30], ' end.'],
      { type: 'ended', reason: 'end' },
    ]);
  });
});

/** Response of v0.32.0 to a prompt without an answer; log probabilities rounded to three digits. */
const VLLM_PROMPT_RECORDED = encodeStream(
  '{"id":"cmpl-a33d7310a7cc3f13","object":"text_completion","created":1795670810,"model":"smollm2","choices":[{"index":0,"text":"","logprobs":{"text_offset":[0,3,11],"token_logprobs":[null,-11.708,-0.336],"tokens":["The"," capital"," of"],"top_logprobs":[null,{" capital":-11.708,"-":-0.833},{" of":-0.336}]},"finish_reason":"length","stop_reason":null,"prompt_token_ids":[504,3575,282],"token_ids":[198]}]}',
  '{"id":"cmpl-a33d7310a7cc3f13","object":"text_completion","created":1795670810,"model":"smollm2","choices":[],"usage":{"prompt_tokens":3,"total_tokens":4,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":0}},"system_fingerprint":"vllm-0.32.0-324a0c34"}',
  '[DONE]',
);

/** Response of v0.5.23 to the same prompt. */
const SGLANG_PROMPT_RECORDED = encodeStream(
  '{"text":"","output_ids":[],"meta_info":{"id":"0750cd46","finish_reason":{"type":"length","length":0},"prompt_tokens":3,"weight_version":"default","num_retractions":0,"input_token_logprobs":[[null,504,"The"],[-11.708,3575," capital"],[-0.336,282," of"]],"output_token_logprobs":[],"output_token_logprobs_length":0,"input_top_logprobs":[null,[[-0.833,29,"-"]],[[-0.336,282," of"]]],"output_top_logprobs":[[[-1.008,198,"\\n"]]],"reasoning_tokens":0,"completion_tokens":0,"cached_tokens":0,"weight_versions":[{"version":"default","start":0,"end":0}],"cached_tokens_details":null,"dp_rank":null,"e2e_latency":0.37,"response_sent_to_client_ts":1795670922.8934307}}',
  '[DONE]',
);

describe('log probabilities of the prompt', () => {
  const call = { prompt: [1, 2, 3], logprobs: { top: 1 }, promptLogprobs: { top: 1 } };
  const PROMPT = [
    ['<s>', undefined, []],
    [' a', -250, [[' b', -1]]],
    [' c', -9_999, []],
  ];
  const list = (entries: readonly TokenLogprob[]) =>
    entries.map(({ token, logprob, top }) => [token, logprob, top.map((one) => [one.token, one.logprob])]);

  for (const [name, dialect, body] of [
    ['vllm', VLLM_DIALECT, VLLM_PROMPT_RECORDED],
    ['sglang', SGLANG_DIALECT, SGLANG_PROMPT_RECORDED],
  ] as const)
    it(`are read from a recorded ${name} response without an answer`, async () => {
      const { events, failure } = await parseTestResponse(dialect, body, {
        call: { ...call, prompt: [504, 3575, 282], tokensMax: 0 },
      });
      assert.equal(failure, undefined);
      const [prompt] = events;
      assert.ok(prompt?.type === 'prompt');
      assert.deepEqual(list(prompt.logprobs), [
        ['The', undefined, []],
        [' capital', -11.708, [['-', -0.833]]],
        [' of', -0.336, [[' of', -0.336]]],
      ]);
      assert.partialDeepStrictEqual(events.at(-1), { type: 'ended', reason: 'length' });
    });

  it('come first from vllm, and do not belong to the answer', async () => {
    assert.partialDeepStrictEqual(VLLM_DIALECT.encodeBody({ ...TEST_CALL, ...call }, 'm'), { echo: true, logprobs: 1 });
    const logprobs = {
      tokens: ['<s>', ' a', ' c', ' d', '<e>'],
      token_logprobs: [null, -250, -9_999, -0.5, -0.25],
      top_logprobs: [null, { ' b': -1, ' a': -250 }, {}, { ' d': -0.5 }, { '<e>': -0.25 }],
    };
    const body = encodeStream(chunk([20, 99], ' d', { logprobs, finish_reason: 'stop' }), '[DONE]');
    const { events } = await parseTestResponse(VLLM_DIALECT, body, { call });
    assert.deepEqual(
      events.map(({ type }) => type),
      ['prompt', 'tokens', 'ended'],
    );
    const [prompt, tokens, end] = events;
    assert.ok(prompt?.type === 'prompt' && tokens?.type === 'tokens' && end?.type === 'ended');
    assert.deepEqual(list(prompt.logprobs), PROMPT);
    assert.deepEqual(list(tokens.logprobs), [[' d', -0.5, [[' d', -0.5]]]]);
    assert.equal(end.endLogprob?.logprob, -0.25);
  });

  it('come first from sglang, and do not belong to the answer', async () => {
    assert.partialDeepStrictEqual(SGLANG_DIALECT.encodeBody({ ...TEST_CALL, ...call }, 'm'), {
      return_logprob: true,
      logprob_start_len: 0,
      top_logprobs_num: 1,
      return_text_in_logprobs: true,
    });
    const createPiece = (ids: readonly number[], text: string, reason: object | null) => ({
      text,
      output_ids: ids,
      meta_info: {
        completion_tokens: ids.length,
        finish_reason: reason,
        input_token_logprobs: [
          [null, 1, '<s>'],
          [-250, 2, ' a'],
          [null, 3, ' c'],
        ],
        input_top_logprobs: [null, [[-1, 5, ' b']], []],
        output_token_logprobs: [
          [-0.5, 20, ' d'],
          [-0.25, 99, '<e>'],
        ].slice(0, ids.length),
        output_top_logprobs: [[[-0.5, 20, ' d']], [[-0.25, 99, '<e>']]].slice(0, ids.length),
      },
    });
    const body = encodeStream(
      createPiece([20], ' d', null),
      createPiece([20, 99], ' d', { type: 'stop', matched: 99 }),
      '[DONE]',
    );
    const { events } = await parseTestResponse(SGLANG_DIALECT, body, { call });
    assert.deepEqual(
      events.map(({ type }) => type),
      ['prompt', 'tokens', 'ended'],
    );
    const [prompt, tokens, end] = events;
    assert.ok(prompt?.type === 'prompt' && tokens?.type === 'tokens' && end?.type === 'ended');
    assert.deepEqual(list(prompt.logprobs), PROMPT);
    assert.deepEqual(list(tokens.logprobs), [[' d', -0.5, [[' d', -0.5]]]]);
    assert.equal(end.endLogprob?.logprob, -0.25);
  });

  it('include that of the end token also in a call that continues an interrupted answer', async () => {
    const meta = {
      completion_tokens: 2,
      finish_reason: { type: 'stop', matched: 99 },
      output_token_logprobs: [
        [-0.5, 20, ' d'],
        [-0.25, 99, '<e>'],
      ],
    };
    const logprobs = { tokens: [' d', '<e>'], token_logprobs: [-0.5, -0.25] };
    for (const [dialect, body] of [
      [VLLM_DIALECT, encodeStream(chunk([20, 99], ' d', { logprobs, finish_reason: 'stop' }), '[DONE]')],
      [SGLANG_DIALECT, encodeStream({ text: ' d', output_ids: [20, 99], meta_info: meta }, '[DONE]')],
    ] as const) {
      const { events } = await parseTestResponse(dialect, body, { call: { logprobs: { top: 0 } } });
      const end = events.at(-1);
      assert.ok(end?.type === 'ended');
      assert.equal(end.endLogprob?.logprob, -0.25);
    }
  });

  it('fail the request if the server reports those of other tokens only', async () => {
    const logprobs = { tokens: [' d'], token_logprobs: [-0.5] };
    for (const [dialect, body] of [
      [VLLM_DIALECT, encodeStream(chunk([20], ' d', { logprobs, finish_reason: 'length' }), '[DONE]')],
      [SGLANG_DIALECT, SGLANG_ANSWER],
    ] as const) {
      const { failure } = await parseTestResponse(dialect, body, { call });
      assert.equal(failure?.kind, 'upstream-failed');
      assert.match(String(failure.cause), /log probabilities of \d tokens for a prompt of 3 tokens/);
    }
  });
});

describe('vllm requests and responses', () => {
  it('emits log probabilities that match the text, best first', async () => {
    const logprobs = {
      tokens: [' a'],
      token_logprobs: [-0.5],
      top_logprobs: [{ ' b': -2, ' a': -0.5, ' c': -9999 }],
    };
    const { events } = await parseTestResponse(
      VLLM_DIALECT,
      encodeStream(chunk([20], ' a', { logprobs, finish_reason: 'length' }), '[DONE]'),
      {
        call: { logprobs: { top: 3 } },
      },
    );
    const [first] = events;
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

  it('emits one log probability for a character whose halves arrive separately', async () => {
    const half = (logprob: number) => ({ logprobs: { tokens: ['\ufffd'], token_logprobs: [logprob] } });
    const { events } = await parseTestResponse(
      VLLM_DIALECT,
      encodeStream(chunk([21], '', half(-1)), chunk([22], '🦄', { ...half(-2), finish_reason: 'length' }), '[DONE]'),
      { call: { logprobs: { top: 0 } } },
    );
    assert.deepEqual(events[0]?.type === 'tokens' && events[0].logprobs, [
      { token: '🦄', bytes: [...Buffer.from('🦄')], logprob: -2, top: [] },
    ]);
  });

  it('fails without token ids, or with an unknown finish reason', async () => {
    const silent = await parseTestResponse(
      VLLM_DIALECT,
      encodeStream({ choices: [{ index: 0, text: 'a', finish_reason: null }] }),
    );
    assert.equal(silent.failure?.kind, 'upstream-failed');
    const aborted = await parseTestResponse(
      VLLM_DIALECT,
      encodeStream(chunk([1], 'a', { finish_reason: 'abort' }), '[DONE]'),
    );
    assert.equal(aborted.failure?.kind, 'upstream-failed');
  });

  it('encodes a grammar for each server', () => {
    const call = { ...TEST_CALL, gbnf: 'root ::= "a"' };
    assert.match(
      JSON.stringify(VLLM_DIALECT.encodeBody(call, 'm')),
      /"structured_outputs":\{"grammar":"root ::= \\"a\\""\}/,
    );
    assert.match(
      JSON.stringify(SGLANG_DIALECT.encodeBody(call, 'm')),
      /"sampling_params":\{[^}]*"ebnf":"root ::= \\"a\\""\}/,
    );
    assert.doesNotMatch(
      JSON.stringify([VLLM_DIALECT.encodeBody(TEST_CALL, 'm'), SGLANG_DIALECT.encodeBody(TEST_CALL, 'm')]),
      /grammar|ebnf/,
    );
  });

  it('requests special tokens in the text only if some of them are markers', () => {
    const splitWords = (dialect: CompletionDialect, markers: ReadonlyMap<number, string>) =>
      JSON.stringify(dialect.encodeBody({ ...TEST_CALL, markers }, 'm')).match(
        /"(skip|spaces_between)_special_tokens":\w+/g,
      );
    for (const dialect of [VLLM_DIALECT, SGLANG_DIALECT]) {
      assert.equal(splitWords(dialect, new Map()), null);
      assert.deepEqual(splitWords(dialect, new Map([[30, '<tool_call>']])), [
        '"skip_special_tokens":false',
        '"spaces_between_special_tokens":false',
      ]);
    }
  });
});

describe('sglang response parser', () => {
  it('parses events that hold only new token ids', async () => {
    const body = encodeStream(
      piece([20], 'Hi', 1),
      piece([21], 'Hi', 2),
      piece([22, 23], 'Hi🦄 b', 4),
      piece([24, 99], 'Hi🦄 bc', 6, { type: 'stop', matched: 99 }),
    );
    assert.deepEqual(await parsePlain(SGLANG_DIALECT, body), SGLANG_EVENTS);
  });

  it('parses events that hold only new text', async () => {
    const body = encodeStream(
      piece([20], 'Hi', 1),
      piece([21], '', 2),
      piece([22, 23], '🦄 b', 4),
      piece([24, 99], 'c', 6, { type: 'stop', matched: 99 }),
    );
    assert.deepEqual(await parsePlain(SGLANG_DIALECT, body, { metadata: { sendsDeltas: true } }), SGLANG_EVENTS);
  });

  it('passes on the message of an abort', async () => {
    const { failure } = await parseTestResponse(
      SGLANG_DIALECT,
      encodeStream(piece([20], 'Hi', 1, { type: 'abort', message: 'too long', status_code: 400 })),
    );
    assert.deepEqual([failure?.kind, failure?.message], ['invalid-request', 'too long']);
  });
});
