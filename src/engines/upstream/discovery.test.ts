import assert from 'node:assert/strict';
import { test } from 'node:test';
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
  await using sglang = await testServer({
    '/v1/models': { data: [{ id: 'x', owned_by: 'sglang', max_model_len: 8192 }] },
    '/get_model_info': { model_path: 'x', is_generation: true, has_image_understanding: true },
  });
  const model = await sglang.engine({ contextTokens: undefined }).model();
  assert.equal(model.contextTokens, 8192);
  assert.deepEqual(model.abilities, { vision: true });
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

test('a failure is asked about again, and does not fail a model whose context is declared', async () => {
  let isLoading = true;
  await using server = await testServer({
    '/v1/models': (_, response) =>
      isLoading
        ? response.writeHead(503).end('{"error":{"message":"Loading model","code":503}}')
        : response.writeHead(200).end('{"data":[{"owned_by":"vllm","max_model_len":64}]}'),
  });
  const engine = server.engine({ contextTokens: undefined });
  await assert.rejects(engine.model(), { kind: 'overloaded' });
  assert.equal((await server.engine().model()).contextTokens, 4096);
  isLoading = false;
  assert.equal((await engine.model()).contextTokens, 64);
});

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
