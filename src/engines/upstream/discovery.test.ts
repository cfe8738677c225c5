import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UPSTREAM_ASK_AGAIN_MS } from '../../core/limits.ts';
import { streamed, testServer } from './__fixtures__/server.ts';
import { REQUEST } from './__fixtures__/request.ts';

const never = new AbortController().signal;
const FINISH = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };

/** As llama-server of 2026 answers, shortened. */
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

test('llama-server tells its context, vocabulary, template, slots and what it can do', async () => {
  await using server = await testServer({ '/v1/models': LLAMA_MODELS, '/props': LLAMA_PROPS });
  const engine = server.engine({ contextTokens: undefined });
  assert.deepEqual(await engine.model(), {
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
  assert.ok(engine.capabilities.forwards?.includes('grammar'));
  await engine.model();
  assert.deepEqual(
    server.asked.map(({ path }) => path),
    ['/v1/models', '/props'],
  );
});

test('a template tells of tools and thoughts where nothing else does', async () => {
  const template = '{% if tools %}{% endif %}{% if enable_thinking %}<think>{% endif %}';
  await using server = await testServer({
    '/v1/models': LLAMA_MODELS,
    '/props': { ...LLAMA_PROPS, chat_template: template, chat_template_caps: undefined, modalities: { vision: true } },
  });
  const { abilities } = await server.engine().model();
  assert.deepEqual(abilities, { vision: true, tools: true, thinking: 'native', logprobs: true });
});

test('vllm and sglang are known by who owns their models, and tell the context', async () => {
  await using vllm = await testServer({
    '/v1/models': {
      data: [
        { id: 'other', owned_by: 'vllm', max_model_len: 1 },
        { id: 'their-model', owned_by: 'vllm', max_model_len: 32768 },
      ],
    },
  });
  const engine = vllm.engine({ contextTokens: undefined });
  assert.equal((await engine.model()).contextTokens, 32768);
  assert.equal(engine.capabilities.thinking, 'switch');
  assert.equal(engine.capabilities.unheardSampling, undefined);
  const sglang = { '/v1/models': { data: [{ id: 'x', owned_by: 'sglang', max_model_len: 8192 }] } };
  await using older = await testServer({
    ...sglang,
    '/get_model_info': { model_path: 'x', is_generation: true, has_image_understanding: true },
  });
  const model = await older.engine({ contextTokens: undefined }).model();
  assert.equal(model.contextTokens, 8192);
  assert.deepEqual(model.abilities, { vision: true });
  // As v0.5.23 says it.
  const told = { reasoning_parser: null, has_image_understanding: false, has_audio_understanding: false };
  for (const [parsers, abilities] of [
    [{ tool_call_parser: null }, { tools: false }],
    [{ tool_call_parser: 'qwen25' }, { tools: true }],
    [
      { tool_call_parser: 'qwen25', reasoning_parser: 'qwen3' },
      { tools: true, thinking: 'native' },
    ],
  ] as const) {
    await using server = await testServer({ ...sglang, '/model_info': { ...told, ...parsers } });
    assert.deepEqual((await server.engine().model()).abilities, { vision: false, audio: false, ...abilities });
  }
});

test('what is declared goes before what is told', async () => {
  await using server = await testServer({
    '/v1/models': { data: [{ id: 'their-model', owned_by: 'vllm', max_model_len: 32768 }] },
  });
  const engine = server.engine({ kind: 'openai', contextTokens: 100 });
  assert.equal((await engine.model()).contextTokens, 100);
  assert.deepEqual(engine.capabilities.unheardSampling, ['topK', 'minP', 'repetitionPenalty']);
});

test('a server that says nothing of itself is taken as declared, or as one that keeps no limit of its own', async () => {
  await using server = await testServer({});
  const engine = server.engine();
  assert.deepEqual(await engine.model(), {
    contextTokens: 4096,
    vocabularySize: 2_147_483_648,
    specialTokens: [],
    bosToken: '',
    eosToken: '',
    abilities: {},
  });
  assert.equal(engine.capabilities.forwards, undefined);
  assert.equal(engine.capabilities.thinking, undefined);
  assert.equal((await server.engine({ contextTokens: undefined }).model()).contextTokens, 1_000_000);
});

test('nonsense about itself is as good as silence', async () => {
  await using server = await testServer({
    '/v1/models': { data: [{ id: 5, owned_by: 'vllm', max_model_len: -1, aliases: 'x' }] },
  });
  const engine = server.engine({ contextTokens: undefined });
  assert.equal((await engine.model()).contextTokens, 1_000_000);
  assert.equal(engine.capabilities.thinking, 'switch');
});

test('a server that cannot say what it is is taken as declared for a while, and asked again while nobody waits', async () => {
  let isIll = true;
  let asked = 0;
  await using server = await testServer({
    '/v1/models': (_, response) => {
      asked++;
      if (isIll) response.writeHead(500).end('{"error":{"message":"no such route"}}');
      else response.writeHead(200).end('{"data":[{"owned_by":"vllm","max_model_len":64}]}');
    },
    '/v1/chat/completions': streamed(FINISH),
  });
  let at = 0;
  const engine = server.engine({ contextTokens: undefined, clock: { monotonic: () => at } });
  const { contextTokens, declaredOnly } = await engine.model();
  assert.equal(contextTokens, 1_000_000);
  assert.equal(declaredOnly?.why.kind, 'upstream-failed');
  assert.ok(declaredOnly.why.cause instanceof Error);
  assert.match(declaredOnly.why.cause.message, /^127\.0\.0\.1:\d+: answered 500: no such route \(GET \/v1\/models\)$/);
  for (let time = 0; time < 3; time++)
    for await (const batch of (await engine.start(REQUEST, never)).batches) assert.ok(batch.length > 0);
  assert.equal(asked, 1);
  isIll = false;
  at += UPSTREAM_ASK_AGAIN_MS;
  assert.equal((await engine.model()).contextTokens, 1_000_000);
  const deadline = performance.now() + 30_000;
  while ((await engine.model()).declaredOnly) {
    assert.ok(performance.now() < deadline, 'not within thirty seconds');
    await new Promise((turn) => setImmediate(turn));
  }
  assert.equal((await engine.model()).contextTokens, 64);
  assert.equal(engine.capabilities.thinking, 'switch');
  assert.equal(asked, 2);
});

test('busy, broken and half-told servers fail no model, and keep what they told', async () => {
  for (const status of [429, 502, 503]) {
    await using server = await testServer({ '/v1/models': (_, response) => response.writeHead(status).end() });
    assert.ok((await server.engine({ contextTokens: undefined }).model()).declaredOnly);
  }
  await using broken = await testServer({ '/v1/models': (_, response) => response.destroy() });
  assert.ok((await broken.engine({ contextTokens: undefined }).model()).declaredOnly);
  await using half = await testServer({
    '/v1/models': LLAMA_MODELS,
    '/props': (_, response) => response.writeHead(500).end(),
  });
  const engine = half.engine({ contextTokens: undefined });
  const { contextTokens, declaredOnly } = await engine.model();
  assert.equal(contextTokens, 2048);
  assert.match(String(declaredOnly?.why.cause), /GET \/props/);
  assert.ok(engine.capabilities.forwards?.includes('grammar'));
});

test('where nobody listens there is no model to assume, only a declared one', async () => {
  await using server = await testServer({});
  const url = 'http://127.0.0.1:1/v1';
  await assert.rejects(server.engine({ url, contextTokens: undefined }).model(), { kind: 'upstream-failed' });
  const declared = await server.engine({ url }).model();
  assert.equal(declared.contextTokens, 4096);
  assert.equal(declared.declaredOnly?.why.kind, 'upstream-failed');
});

test(
  'a caller that goes while the server is asked what it is does not wait for that',
  { timeout: 30_000 },
  async (t) => {
    // The question is never given up: whoever waited for its end would wait for ever.
    t.mock.timers.enable({ apis: ['setTimeout'] });
    await using server = await testServer({ '/v1/models': () => undefined });
    const engine = server.engine();
    const caller = new AbortController();
    const starting = engine.start(REQUEST, caller.signal);
    const embedding = engine.embeddings?.embed({ ...REQUEST, inputs: [{ text: 'a', field: 'input' }] }, caller.signal);
    const ranking = engine.ranking?.rank(
      { ...REQUEST, query: { text: 'a', field: 'query' }, documents: [] },
      caller.signal,
    );
    caller.abort();
    for (const call of [starting, embedding, ranking]) await assert.rejects(async () => call, { kind: 'cancelled' });
  },
);

test('calls that come together ask once, and the first answer is asked for in the words of the server', async () => {
  await using server = await testServer({
    '/v1/models': LLAMA_MODELS,
    '/props': LLAMA_PROPS,
    '/v1/chat/completions': streamed(FINISH, { choices: [], usage: { prompt_tokens: 1, completion_tokens: 0 } }),
  });
  const engine = server.engine();
  const request = { ...REQUEST, sampling: { repetitionPenalty: 1.2 } };
  const starts = await Promise.all([engine.start(request, never), engine.start(request, never)]);
  for (const { batches } of starts) for await (const batch of batches) assert.ok(batch.length > 0);
  assert.deepEqual(
    server.asked.map(({ path }) => path),
    ['/v1/models', '/props', '/v1/chat/completions', '/v1/chat/completions'],
  );
  assert.deepEqual(server.asked.at(-1)?.body, {
    model: 'their-model',
    messages: [{ role: 'user', content: 'Hi' }],
    stream: true,
    stream_options: { include_usage: true },
    repeat_penalty: 1.2,
  });
});

test('a declared kind is not waited for', async () => {
  await using server = await testServer({
    '/v1/models': () => undefined,
    '/v1/chat/completions': streamed(FINISH),
  });
  const { batches } = await server.engine({ kind: 'openai' }).start(REQUEST, never);
  for await (const batch of batches) assert.equal(batch.at(-1)?.type, 'end');
});
