import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UPSTREAM_QUERY_RETRY_MS } from '../limits.ts';
import { replyWithStream, startFakeServer } from './__fixtures__/fake-server.ts';
import { REQUEST } from './__fixtures__/test-request.ts';

const never = new AbortController().signal;
const FINISH = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };

/** Responses of a llama-server of 2026, shortened. */
const LLAMA_MODELS = {
  models: [{ name: 'smollm2.gguf', capabilities: ['completion'] }],
  object: 'list',
  data: [
    {
      id: 'smollm2.gguf',
      aliases: ['their-model'],
      object: 'model',
      owned_by: 'llamacpp',
      meta: { vocab_type: 2, n_vocab: 49152, n_ctx: 2048, n_ctx_train: 8192 },
    },
  ],
};
const LLAMA_PROPS = {
  default_generation_settings: { params: { seed: 4294967295 }, n_ctx: 2048 },
  total_slots: 2,
  modalities: { vision: false, video: false, audio: false },
  chat_template: "{% for message in messages %}{{ message['content'] }}{% endfor %}",
  chat_template_caps: { supports_tools: false, supports_tool_calls: false },
  bos_token: '<|im_start|>',
  eos_token: '<|im_end|>',
};

test('reads context, vocabulary, template, slots and abilities of llama-server', async () => {
  await using server = await startFakeServer({ '/v1/models': LLAMA_MODELS, '/props': LLAMA_PROPS });
  const engine = server.createEngine({ contextTokens: undefined });
  assert.deepEqual(await engine.loadModel(), {
    contextTokens: 2048,
    vocabularySize: 49152,
    chatTemplate: LLAMA_PROPS.chat_template,
    specialTokens: [],
    bosToken: '<|im_start|>',
    eosToken: '<|im_end|>',
    abilities: { vision: false, audio: false, tools: false, logprobs: true },
  });
  assert.equal(engine.capabilities.choicesMax, 2);
  assert.equal(engine.capabilities.thinking, 'budget');
  assert.ok(engine.capabilities.forwardableFields?.includes('grammar'));
  await engine.loadModel();
  assert.deepEqual(
    server.requests.map(({ path }) => path),
    ['/v1/models', '/props'],
  );
});

test('infers tools and thinking from the template if nothing else reports them', async () => {
  const template = '{% if tools %}{% endif %}{% if enable_thinking %}<think>{% endif %}';
  await using server = await startFakeServer({
    '/v1/models': LLAMA_MODELS,
    '/props': { ...LLAMA_PROPS, chat_template: template, chat_template_caps: undefined, modalities: { vision: true } },
  });
  const { abilities } = await server.createEngine().loadModel();
  assert.deepEqual(abilities, { vision: true, tools: true, thinking: 'native', logprobs: true });
});

test('reads the context of a LoRA adapter from its model', async () => {
  await using vllm = await startFakeServer({
    '/v1/models': {
      data: [
        { id: 'base', owned_by: 'vllm', max_model_len: 32768, parent: null },
        { id: 'their-model', owned_by: 'vllm', max_model_len: null, parent: 'base' },
      ],
    },
  });
  assert.equal((await vllm.createEngine({ contextTokens: undefined }).loadModel()).contextTokens, 32768);
});

test('recognizes vllm and sglang by the owner of their models, and reads the context', async () => {
  await using vllm = await startFakeServer({
    '/v1/models': {
      data: [
        { id: 'other', owned_by: 'vllm', max_model_len: 1 },
        { id: 'their-model', owned_by: 'vllm', max_model_len: 32768 },
      ],
    },
  });
  const engine = vllm.createEngine({ contextTokens: undefined });
  assert.equal((await engine.loadModel()).contextTokens, 32768);
  assert.equal(engine.capabilities.thinking, 'switch');
  assert.equal(engine.capabilities.ignoredSampling, undefined);
  const sglang = { '/v1/models': { data: [{ id: 'x', owned_by: 'sglang', max_model_len: 8192 }] } };
  await using older = await startFakeServer({
    ...sglang,
    '/get_model_info': { model_path: 'x', is_generation: true, has_image_understanding: true },
  });
  const model = await older.createEngine({ contextTokens: undefined }).loadModel();
  assert.equal(model.contextTokens, 8192);
  assert.deepEqual(model.abilities, { vision: true });
  // Response of v0.5.23.
  const reportedInfo = { reasoning_parser: null, has_image_understanding: false, has_audio_understanding: false };
  for (const [parsers, abilities] of [
    [{ tool_call_parser: null }, { tools: false }],
    [{ tool_call_parser: 'qwen25' }, { tools: true }],
    [
      { tool_call_parser: 'qwen25', reasoning_parser: 'qwen3' },
      { tools: true, thinking: 'native' },
    ],
  ] as const) {
    await using server = await startFakeServer({ ...sglang, '/model_info': { ...reportedInfo, ...parsers } });
    assert.deepEqual((await server.createEngine().loadModel()).abilities, {
      vision: false,
      audio: false,
      ...abilities,
    });
  }
});

test('prefers declared values to reported ones', async () => {
  await using server = await startFakeServer({
    '/v1/models': { data: [{ id: 'their-model', owned_by: 'vllm', max_model_len: 32768 }] },
  });
  const engine = server.createEngine({ kind: 'openai', contextTokens: 100 });
  assert.equal((await engine.loadModel()).contextTokens, 100);
  assert.deepEqual(engine.capabilities.ignoredSampling, ['topK', 'minP', 'repetitionPenalty']);
});

test('uses declared values or no limits for a server that reports nothing', async () => {
  await using server = await startFakeServer({});
  const engine = server.createEngine();
  assert.deepEqual(await engine.loadModel(), {
    contextTokens: 4096,
    vocabularySize: 2_147_483_648,
    specialTokens: [],
    bosToken: '',
    eosToken: '',
    abilities: {},
  });
  assert.equal(engine.capabilities.forwardableFields, undefined);
  assert.equal(engine.capabilities.thinking, undefined);
  assert.equal((await server.createEngine({ contextTokens: undefined }).loadModel()).contextTokens, 1_000_000);
});

test('ignores invalid metadata', async () => {
  await using server = await startFakeServer({
    '/v1/models': { data: [{ id: 5, owned_by: 'vllm', max_model_len: -1, aliases: 'x' }] },
  });
  const engine = server.createEngine({ contextTokens: undefined });
  assert.equal((await engine.loadModel()).contextTokens, 1_000_000);
  assert.equal(engine.capabilities.thinking, 'switch');
});

test('uses declared values for a while if discovery fails, and repeats it in the background', async () => {
  let isIll = true;
  let queryCount = 0;
  await using server = await startFakeServer({
    '/v1/models': (_, response) => {
      queryCount++;
      if (isIll) response.writeHead(500).end('{"error":{"message":"no such route"}}');
      else response.writeHead(200).end('{"data":[{"owned_by":"vllm","max_model_len":64}]}');
    },
    '/v1/chat/completions': replyWithStream(FINISH),
  });
  let at = 0;
  const engine = server.createEngine({ contextTokens: undefined, clock: { monotonic: () => at } });
  const { contextTokens, unverified } = await engine.loadModel();
  assert.equal(contextTokens, 1_000_000);
  assert.equal(unverified?.reason.kind, 'upstream-failed');
  assert.ok(unverified.reason.cause instanceof Error);
  assert.match(unverified.reason.cause.message, /^127\.0\.0\.1:\d+: answered 500: no such route \(GET \/v1\/models\)$/);
  for (let time = 0; time < 3; time++)
    for await (const batch of (await engine.start(REQUEST, never)).batches) assert.ok(batch.length > 0);
  assert.equal(queryCount, 1);
  isIll = false;
  at += UPSTREAM_QUERY_RETRY_MS;
  assert.equal((await engine.loadModel()).contextTokens, 1_000_000);
  const deadline = performance.now() + 30_000;
  while ((await engine.loadModel()).unverified) {
    assert.ok(performance.now() < deadline, 'not within thirty seconds');
    await new Promise((turn) => setImmediate(turn));
  }
  assert.equal((await engine.loadModel()).contextTokens, 64);
  assert.equal(engine.capabilities.thinking, 'switch');
  assert.equal(queryCount, 2);
});

test('keeps reported metadata of servers that are busy, broken or partly silent', async () => {
  for (const status of [429, 502, 503]) {
    await using server = await startFakeServer({ '/v1/models': (_, response) => response.writeHead(status).end() });
    assert.ok((await server.createEngine({ contextTokens: undefined }).loadModel()).unverified);
  }
  await using broken = await startFakeServer({ '/v1/models': (_, response) => response.destroy() });
  assert.ok((await broken.createEngine({ contextTokens: undefined }).loadModel()).unverified);
  await using half = await startFakeServer({
    '/v1/models': LLAMA_MODELS,
    '/props': (_, response) => response.writeHead(500).end(),
  });
  const engine = half.createEngine({ contextTokens: undefined });
  const { contextTokens, unverified } = await engine.loadModel();
  assert.equal(contextTokens, 2048);
  assert.match(String(unverified?.reason.cause), /GET \/props/);
  assert.ok(engine.capabilities.forwardableFields?.includes('grammar'));
});

test('fails without a declared model if nothing listens', async () => {
  await using server = await startFakeServer({});
  const url = 'http://127.0.0.1:1/v1';
  await assert.rejects(server.createEngine({ url, contextTokens: undefined }).loadModel(), { kind: 'upstream-failed' });
  const declared = await server.createEngine({ url }).loadModel();
  assert.equal(declared.contextTokens, 4096);
  assert.equal(declared.unverified?.reason.kind, 'upstream-failed');
});

test('does not wait for discovery after the caller has left', { timeout: 30_000 }, async (t) => {
  // The query is never aborted: a caller that waited for its end would wait for ever.
  t.mock.timers.enable({ apis: ['setTimeout'] });
  await using server = await startFakeServer({ '/v1/models': () => undefined });
  const engine = server.createEngine();
  const caller = new AbortController();
  const starting = engine.start(REQUEST, caller.signal);
  const embedding = engine.embeddings?.embed({ ...REQUEST, inputs: [{ text: 'a', field: 'input' }] }, caller.signal);
  const ranking = engine.ranking?.rank(
    { ...REQUEST, query: { text: 'a', field: 'query' }, documents: [] },
    caller.signal,
  );
  caller.abort();
  for (const call of [starting, embedding, ranking]) await assert.rejects(async () => call, { kind: 'cancelled' });
});

test('queries once for parallel calls, and encodes the first request for the discovered server', async () => {
  await using server = await startFakeServer({
    '/v1/models': LLAMA_MODELS,
    '/props': LLAMA_PROPS,
    '/v1/chat/completions': replyWithStream(FINISH, { choices: [], usage: { prompt_tokens: 1, completion_tokens: 0 } }),
  });
  const engine = server.createEngine();
  const request = { ...REQUEST, sampling: { repetitionPenalty: 1.2 } };
  const starts = await Promise.all([engine.start(request, never), engine.start(request, never)]);
  for (const { batches } of starts) for await (const batch of batches) assert.ok(batch.length > 0);
  assert.deepEqual(
    server.requests.map(({ path }) => path),
    ['/v1/models', '/props', '/v1/chat/completions', '/v1/chat/completions'],
  );
  assert.deepEqual(server.requests.at(-1)?.body, {
    model: 'their-model',
    messages: [{ role: 'user', content: 'Hi' }],
    stream: true,
    stream_options: { include_usage: true },
    repeat_penalty: 1.2,
  });
});

test('does not wait for discovery if the kind is declared', async () => {
  await using server = await startFakeServer({
    '/v1/models': () => undefined,
    '/v1/chat/completions': replyWithStream(FINISH),
  });
  const { batches } = await server.createEngine({ kind: 'openai' }).start(REQUEST, never);
  for await (const batch of batches) assert.equal(batch.at(-1)?.type, 'end');
});
