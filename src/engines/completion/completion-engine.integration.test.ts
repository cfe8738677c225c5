import assert from 'node:assert/strict';
import { once } from 'node:events';
import { afterEach, describe, it } from 'node:test';
import { ServiceError } from '../../core/error.ts';
import type { EngineEvent } from '../../core/event.ts';
import { until } from '../../../test/until.ts';
import type { EngineRequest, EngineRun } from '../engine.ts';
import { SHARE_RESERVE_MS, YIELD_MS } from '../limits.ts';
import { REQUEST } from './__fixtures__/parse-test-response.ts';
import {
  LAST_EVENT,
  createLetterEvent,
  startFakeLlamaServer,
  writeStream,
  ACCEPTED_EVENT,
  type FakeLlamaHandler,
  type FakeLlamaServer,
} from './__fixtures__/fake-llama-server.ts';
import { createCompletionEngine, type CompletionEngineOptions } from './completion-engine.ts';

const KEY = 'sk-secret';
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function setUp(
  complete: FakeLlamaHandler,
  {
    others = {},
    ...options
  }: Partial<CompletionEngineOptions> & { readonly others?: Readonly<Record<string, FakeLlamaHandler>> } = {},
) {
  const server: FakeLlamaServer = await startFakeLlamaServer(complete, others);
  const engine = createCompletionEngine({
    url: server.url,
    model: 'm',
    server: 'llama-server',
    apiKey: KEY,
    ...options,
  });
  closing.push(async () => {
    await engine.close();
    await server.close();
  });
  const start = (more: Partial<EngineRequest> = {}, signal = new AbortController().signal) =>
    engine.start({ ...REQUEST, ...more }, signal);
  const answer = async (more: Partial<EngineRequest> = {}): Promise<EngineEvent[]> =>
    (await Array.fromAsync((await start(more)).batches)).flat();
  return { server, engine, start, answer };
}

const refuseWith =
  (status: number, message: string): FakeLlamaHandler =>
  (response) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ error: { message } }));

/** Limits are short only where one must expire: a busy machine may stall for longer. */
const getTimeouts = (kind: string) => (kind === 'timeout' ? { firstTokenMs: 150, idleMs: 150 } : {});

/** Checks that neither the error nor its causes contain the key. */
function hasNoKey(error: unknown): boolean {
  for (let one: unknown = error; one instanceof Error; one = one.cause)
    assert.ok(!`${one.message}${one.stack}`.includes(KEY), one.message);
  return true;
}

describe('completion engine', () => {
  it('discovers the server, its model and its special texts', async () => {
    const { engine } = await setUp(() => undefined, { contextTokens: 80 });
    const model = await engine.loadModel();
    assert.deepEqual(model, {
      contextTokens: 80,
      vocabularySize: 262,
      chatTemplate: 'the template',
      specialTokens: ['<|im_start|>', '<tool_call>', '<|im_end|>', '[e~['],
      bosToken: '<|im_start|>',
      eosToken: '<|im_end|>',
      abilities: { logprobs: true },
    });
    assert.equal(engine.capabilities.choicesMax, 2);
    const text = { type: 'segments', segments: [{ text: '<tool_call>', special: false }] } as const;
    assert.equal(await engine.countTokens(text), '<tool_call>'.length);
    await engine.probe?.(new AbortController().signal);
  });

  it('repeats a failed discovery', async () => {
    const loading: FakeLlamaHandler = (response, _, call) => {
      if (call === 1) refuseWith(503, 'Loading model')(response, {}, call);
    };
    const { engine, answer } = await setUp(
      (response) => void writeStream(response, createLetterEvent('a', 1), LAST_EVENT).end(),
      {
        others: { '/props': loading, '/health': loading },
      },
    );
    await assert.rejects(engine.loadModel(), { kind: 'overloaded' });
    await assert.rejects(async () => engine.probe?.(new AbortController().signal), { kind: 'overloaded' });
    assert.equal((await answer()).at(-1)?.type, 'end');
  });

  it('encodes every option for the server, and returns cached tokens', async () => {
    const { server, start } = await setUp(
      (response) => void writeStream(response, ACCEPTED_EVENT, createLetterEvent('a', 1), LAST_EVENT).end(),
    );
    const { batches, ...startInfo } = await start({
      maxTokens: 500,
      sampling: {
        temperature: 0.5,
        topP: 0.6,
        topK: 7,
        minP: 0.1,
        repetitionPenalty: 1.1,
        presencePenalty: 0.2,
        frequencyPenalty: 0.3,
        logitBias: new Map([[97, -100]]),
        seed: 9,
      },
      logprobs: { top: 0 },
    });
    assert.deepEqual(startInfo, { promptTokens: 2, cachedTokens: 3, maxTokens: 98 });
    const events = (await Array.fromAsync(batches)).flat();
    assert.deepEqual(events.at(-1), { type: 'end', usage: { promptTokens: 2, cachedTokens: 2, completionTokens: 1 } });
    const { response_fields: fields, ...body } = server.generated[0] ?? {};
    assert.ok(Array.isArray(fields) && fields.includes('stop_type') && !fields.includes('prompt'));
    assert.deepEqual(body, {
      model: 'm',
      prompt: [1, 2],
      n_predict: 98,
      stream: true,
      cache_prompt: true,
      return_progress: true,
      return_tokens: true,
      temperature: 0.5,
      top_p: 0.6,
      top_k: 7,
      min_p: 0.1,
      repeat_penalty: 1.1,
      presence_penalty: 0.2,
      frequency_penalty: 0.3,
      seed: 9,
      logit_bias: [[97, -100]],
      n_probs: 1,
    });
  });

  it('refuses impossible values before it calls the server', async () => {
    const { server, start } = await setUp(() => undefined);
    const bad = { type: 'schema', schema: { $ref: '#/nowhere' }, field: 'tools[2].function.parameters' } as const;
    for (const [more, param] of [
      [{ choices: 3 }, 'n'],
      [{ sampling: { logitBias: new Map([[262, 1]]) } }, 'logit_bias'],
      [{ stop: { strings: [], tokens: [[1, 999]] } }, 'stop'],
      [{ input: { type: 'tokens', tokens: [262] } }, 'prompt'],
      [{ input: { type: 'tokens', tokens: [] } }, undefined],
      [{ input: { type: 'tokens', tokens: Array.from({ length: 100 }, () => 1) } }, 'messages'],
      [{ phases: [{ kind: 'answer', grammar: bad }] }, 'tools[2].function.parameters'],
    ] satisfies [Partial<EngineRequest>, string | undefined][])
      await assert.rejects(start(more), (error) => {
        assert.ok(error instanceof ServiceError);
        const kind = param === 'messages' ? 'context-exceeded' : 'invalid-request';
        assert.deepEqual([error.kind, error.param], [kind, param]);
        return true;
      });
    assert.equal(server.generated.length, 0);
  });

  it('refuses at the start what the server refuses, with its message', async () => {
    const { start } = await setUp(refuseWith(400, `request (90 tokens) exceeds 80, key ${KEY}`));
    await assert.rejects(start(), (error) => {
      assert.ok(error instanceof ServiceError);
      assert.deepEqual([error.kind, error.message], ['invalid-request', 'request (90 tokens) exceeds 80, key [key]']);
      return hasNoKey(error);
    });
  });

  for (const [what, complete, kind] of [
    ['hangs up', (response) => void response.destroy(), 'upstream-failed'],
    ['answers 200 with nothing', (response) => void response.writeHead(200).end(), 'upstream-failed'],
    ['streams nothing', (response) => void writeStream(response).end(), 'upstream-failed'],
    ['sends garbage', (response) => void writeStream(response, 'data: {oops\n\n').end(), 'upstream-failed'],
    [
      'sends an error in a 200',
      (response) => void writeStream(response, { error: { code: 500, message: 'x' } }).end(),
      'upstream-failed',
    ],
    ['says nothing', () => undefined, 'timeout'],
    ['rejects the key', refuseWith(401, `Invalid API Key ${KEY}`), 'upstream-failed'],
  ] satisfies [string, FakeLlamaHandler, string][])
    it(`does not start when the server ${what}`, async () => {
      const { start } = await setUp(complete, { timeouts: getTimeouts(kind) });
      await assert.rejects(start(), { kind });
      await assert.rejects(start(), hasNoKey);
    });

  for (const [what, complete, kind] of [
    [
      'dies before its first token',
      (response) => void writeStream(response, ACCEPTED_EVENT).destroy(),
      'upstream-failed',
    ],
    ['never comes to its first token', (response) => void writeStream(response, ACCEPTED_EVENT), 'timeout'],
    ['dies', (response) => void writeStream(response, createLetterEvent('a', 1)).destroy(), 'upstream-failed'],
    ['falls silent', (response) => void writeStream(response, createLetterEvent('a', 1)), 'timeout'],
    [
      'ends without its end',
      (response) => void writeStream(response, createLetterEvent('a', 1)).end(),
      'upstream-failed',
    ],
    [
      'sends an error',
      (response) => void writeStream(response, createLetterEvent('a', 1), { error: 'no' }).end(),
      'upstream-failed',
    ],
  ] satisfies [string, FakeLlamaHandler, string][])
    it(`fails, and never looks finished, when the server ${what} inside an answer`, async () => {
      const { start } = await setUp(complete, { timeouts: getTimeouts(kind) });
      const events: EngineEvent[] = [];
      const { batches } = await start().catch((error: unknown) => ({ batches: Promise.reject(error) }));
      await assert.rejects(
        async () => {
          for await (const batch of await batches) events.push(...batch);
        },
        { kind },
      );
      assert.ok(events.every(({ type }) => type === 'text'));
    });

  it('starts all choices or none, and ends all with the first that fails', async () => {
    const oneRefused = await setUp((response, body, call) =>
      call === 2
        ? refuseWith(503, 'busy')(response, body, call)
        : void writeStream(response, ACCEPTED_EVENT, createLetterEvent('a', 1)),
    );
    await assert.rejects(oneRefused.start({ choices: 2 }), { kind: 'overloaded' });
    const closed: Promise<unknown>[] = [];
    const oneDies = await setUp((response, _, call) => {
      writeStream(response, ACCEPTED_EVENT, createLetterEvent('a', 1));
      if (call === 1) closed.push(once(response, 'close'));
      else response.destroy();
    });
    await assert.rejects(oneDies.answer({ choices: 2 }), { kind: 'upstream-failed' });
    await Promise.all(closed);
    // Its slots are free again.
    await assert.rejects(oneDies.answer({ choices: 2 }), { kind: 'upstream-failed' });
  });

  it('sends no more calls than the server has slots; the next one waits', async () => {
    const finishers: (() => void)[] = [];
    const { server, answer, start } = await setUp((response) => {
      writeStream(response, ACCEPTED_EVENT);
      finishers.push(() => void writeStream(response, createLetterEvent('a', 1), LAST_EVENT).end());
    });
    await start();
    const caller = new AbortController();
    await start({}, caller.signal);
    const third = answer();
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(server.generated.length, 2);
    caller.abort();
    // The third request gets the slot of the one that left.
    while (finishers.length < 3) await new Promise((resolve) => setImmediate(resolve));
    finishers[2]?.();
    assert.equal((await third).at(-1)?.type, 'end');
  });

  it('releases its slots when running and waiting requests leave at the same moment', async () => {
    let isDone = false;
    const { answer, start } = await setUp((response) => {
      writeStream(response, ACCEPTED_EVENT);
      if (isDone) writeStream(response, createLetterEvent('a', 1), LAST_EVENT).end();
    });
    const caller = new AbortController();
    await Promise.all([start({}, caller.signal), start({}, caller.signal)]);
    const waiting = Promise.allSettled([start({}, caller.signal), start({}, caller.signal)]);
    for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
    caller.abort();
    assert.deepEqual(
      (await waiting).map(({ status }) => status),
      ['rejected', 'rejected'],
    );
    isDone = true;
    for (const events of await Promise.all([answer(), answer()])) assert.equal(events.at(-1)?.type, 'end');
  });

  it('closes a call of a workspace above its share for another workspace, and continues the answer later', async () => {
    let now = 0;
    const open = new Map<string, (letter: string, isLast?: boolean) => void>();
    const { server, start } = await setUp(
      (response, { prompt }) => {
        writeStream(response, ACCEPTED_EVENT);
        let predicted = 0;
        open.set(Buffer.from(prompt as number[]).toString(), (letter, isLast = false) => {
          now += YIELD_MS;
          writeStream(response, createLetterEvent(letter, ++predicted));
          if (isLast) writeStream(response, LAST_EVENT).end();
        });
      },
      { clock: { monotonic: () => now } },
    );
    const createRequest = (workspace: string, text: string, choices = 1): Partial<EngineRequest> => ({
      owner: { workspace, key: 'k' },
      input: { type: 'segments', segments: [{ text, special: false }] },
      choices,
    });
    const read = async (run: EngineRun): Promise<string[]> => {
      const texts = ['', ''];
      for await (const batch of run.batches)
        for (const event of batch) if (event.type === 'text') texts[event.choice] += event.text;
      return texts;
    };
    const first = read(await start(createRequest('a', 'one')));
    const second = read(await start(createRequest('a', 'two')));
    const newcomer = start(createRequest('b', 'new'));
    const waitForCall = (context: string) =>
      until(`a call with ${context}`, { timeoutMs: 20_000 }, async () => open.get(context));
    (await waitForCall('two'))('a');
    const writeNew = await waitForCall('new');
    // The answer stops at its next token.
    open.get('two')?.('b');
    writeNew('c', true);
    assert.deepEqual(await read(await newcomer), ['c', '']);
    (await waitForCall('one'))('x', true);
    now += SHARE_RESERVE_MS;
    (await waitForCall('twoab'))('d', true);
    assert.deepEqual(
      [await first, await second],
      [
        ['x', ''],
        ['abd', ''],
      ],
    );
    assert.equal(server.countOpen(), 0);
  });

  it('reuses its connection for the next call', async () => {
    const ports = new Set<number | undefined>();
    const { answer } = await setUp((response) => {
      ports.add(response.socket?.remotePort);
      writeStream(response, createLetterEvent('a', 1), LAST_EVENT).end();
    });
    for (let call = 0; call < 3; call++) await answer();
    assert.equal(ports.size, 1);
  });
});

/** Response of SGLang v0.5.23 to the tokens of ` 日本`, the first of which spans three tokens. */
const SGLANG_PROMPT_RECORDED =
  'data: {"text":"","output_ids":[],"meta_info":{"id":"1385a920","finish_reason":{"type":"length","length":0},"prompt_tokens":4,"weight_version":"default","num_retractions":0,"input_token_logprobs":[[null,17097," \uFFFD"],[-13.617575645446777,241,"\uFFFD"],[-8.755965232849121,115,"\uFFFD"],[-7.3286919593811035,40993,"本"]],"output_token_logprobs":[],"output_token_logprobs_length":0,"input_top_logprobs":[null,[[-1.3675752878189087,29,"-"]],[[-2.3809654712677,28,","]],[[-2.4536919593811035,12831,"，"]]],"output_top_logprobs":[[[-2.1652584057927734,11567,"的"]]],"reasoning_tokens":0,"completion_tokens":0,"cached_tokens":0,"weight_versions":[{"version":"default","start":0,"end":0}],"cached_tokens_details":null,"dp_rank":null,"e2e_latency":0.34938799200017456,"response_sent_to_client_ts":1795671615.8790016}}\n\ndata: [DONE]\n\n';

describe('completion engine for sglang', () => {
  it('reads the characters of a prompt that span several tokens', async () => {
    const decoded: unknown[] = [];
    const reply =
      (body: object): FakeLlamaHandler =>
      (response) =>
        void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    const { answer } = await setUp(() => undefined, {
      server: 'sglang',
      chatTemplate: 'x',
      others: {
        '/v1/models': reply({ data: [{ max_model_len: 100 }] }),
        '/server_info': reply({}),
        '/tokenize': reply({ tokens: [] }),
        '/generate': (response, { stream }) => {
          if (stream === true) writeStream(response, SGLANG_PROMPT_RECORDED).end();
          else refuseWith(400, 'logit_bias must has keys in [0, 49151], got 2147483647.')(response, {}, 1);
        },
        '/detokenize': (response, body, call) => {
          decoded.push(body['tokens']);
          reply({ text: [' \uFFFD', '\uFFFD', ' 日'] })(response, body, call);
        },
      },
    });
    const [prompt] = await answer({
      input: { type: 'tokens', tokens: [17_097, 241, 115, 40_993] },
      maxTokens: 0,
      logprobs: { top: 1 },
      promptLogprobs: { top: 1 },
    });
    assert.ok(prompt?.type === 'prompt');
    assert.equal(prompt.text, ' 日本');
    assert.deepEqual(
      prompt.logprobs.map(({ token }) => token),
      ['', '', ' 日', '本'],
    );
    assert.deepEqual(decoded, [
      [
        [17_097, 241],
        [241, 115],
        [17_097, 241, 115],
      ],
    ]);
  });
});
