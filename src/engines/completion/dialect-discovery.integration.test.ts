import assert from 'node:assert/strict';
import { it } from 'node:test';
import { startFakeLlamaServer, type FakeLlamaBody, type FakeLlamaHandler } from './__fixtures__/fake-llama-server.ts';
import { createCompletionEngine, type CompletionServerKind } from './completion-engine.ts';

const SPECIAL = ['<|im_start|>', '<repo_name>'];

/** Tokenizes like vLLM and SGLang, which parse special tokens in every text. */
const tokenizeText = (text: string): number[] =>
  text.split(/(<\|im_start\|>|<repo_name>)/).flatMap((piece) => {
    const at = SPECIAL.indexOf(piece);
    return at < 0 ? [...Buffer.from(piece)] : [256 + at];
  });

const replyWith =
  (value: object | ((body: FakeLlamaBody) => object), status = 200): FakeLlamaHandler =>
  (response, body) =>
    void response.writeHead(status).end(JSON.stringify(typeof value === 'function' ? value(body) : value));

async function startTestEngine(
  server: CompletionServerKind,
  others: Readonly<Record<string, FakeLlamaHandler>>,
  { chatTemplate = 'the template' }: { readonly chatTemplate?: string | undefined } = {},
) {
  const like = await startFakeLlamaServer(() => undefined, {
    '/v1/models': replyWith({ data: [{ id: 'm', max_model_len: 2_048 }] }),
    '/tokenize': replyWith(({ prompt }) => ({ tokens: tokenizeText(String(prompt)) })),
    '/detokenize': replyWith({ prompt: 'x' }),
    ...others,
  });
  const engine = createCompletionEngine({
    url: like.url,
    model: 'm',
    server,
    ...(chatTemplate ? { chatTemplate } : {}),
  });
  return {
    engine,
    async [Symbol.asyncDispose]() {
      await engine.close();
      await like.close();
    },
  };
}

it('reads the context of a LoRA adapter on vllm from its model', async () => {
  const data = [
    { id: 'base', max_model_len: 1_024 },
    { id: 'm', parent: 'base', max_model_len: null },
  ];
  await using server = await startTestEngine('vllm', { '/v1/models': replyWith({ data }) });
  assert.equal((await server.engine.loadModel()).contextTokens, 1_024);
});

for (const [release, decoder] of [
  ['v0.32', { '3': '<repo_name>' }],
  ['an older release', { '3': { content: '<repo_name>', special: true } }],
] as const)
  it(`discovers the special tokens of vllm ${release}, and keeps callers from writing them`, async () => {
    await using server = await startTestEngine('vllm', {
      '/tokenizer_info': replyWith({ tokenizer_class: 'T', bos_token: '<|im_start|>', added_tokens_decoder: decoder }),
    });
    const { specialTokens } = await server.engine.loadModel();
    assert.deepEqual(specialTokens.toSorted(), ['<repo_name>', '<|im_start|>']);
    const segments = [{ text: 'a <repo_name>', special: false }];
    const tokens = await server.engine.tokenize({ type: 'segments', segments });
    assert.ok(tokens.length > 3 && tokens.every(({ id }) => id < 256));
  });

it('finds the marks of a template whatever they look like', async () => {
  const marks = [']~b]', '[e~['];
  const tokenize = (text: string): number[] =>
    text
      .split(/(\]~b\]|\[e~\[)/)
      .flatMap((piece) => (marks.includes(piece) ? [256 + marks.indexOf(piece)] : [...Buffer.from(piece)]));
  await using server = await startTestEngine(
    'vllm',
    {
      '/tokenize': replyWith(({ prompt }) => ({ tokens: tokenize(String(prompt)) })),
      '/detokenize': replyWith(({ tokens }) => {
        const [id = 0] = Array.isArray(tokens) ? tokens : [];
        return { prompt: marks[id - 256] ?? String.fromCharCode(id) };
      }),
    },
    { chatTemplate: "{{ ']~b]system\n' ~ messages[0]['content'] ~ '[e~[' }}" },
  );
  assert.deepEqual((await server.engine.loadModel()).specialTokens.toSorted(), ['[e~[', ']~b]']);
  const tokens = await server.engine.tokenize({ type: 'segments', segments: [{ text: 'a ]~b]', special: false }] });
  assert.ok(tokens.every(({ id }) => id < 256));
});

const NAMED_TEMPLATES = [
  { name: 'default', template: 'chat' },
  { name: 'tool_use', template: 'tools' },
];

it('takes the named templates of vllm, unless the operator names a template', async () => {
  const others = { '/tokenizer_info': replyWith({ tokenizer_class: 'T', chat_template: NAMED_TEMPLATES }) };
  await using server = await startTestEngine('vllm', others, { chatTemplate: '' });
  const { chatTemplate, toolTemplate } = await server.engine.loadModel();
  assert.deepEqual([chatTemplate, toolTemplate], ['chat', 'tools']);
  await using other = await startTestEngine('vllm', others);
  const model = await other.engine.loadModel();
  assert.deepEqual([model.chatTemplate, model.toolTemplate], ['the template', undefined]);
});

it('takes the template for tools that llama-server reports, unless the operator names a template', async () => {
  const props = {
    default_generation_settings: { n_ctx: 100 },
    chat_template: 'chat',
    chat_template_tool_use: 'tools',
    bos_token: '',
    eos_token: '<|im_end|>',
  };
  for (const [chatTemplate, expected] of [
    ['', ['chat', 'tools']],
    ['mine', ['mine', undefined]],
  ] as const) {
    const like = await startFakeLlamaServer(() => undefined, { '/props': replyWith(props) });
    const options = {
      url: like.url,
      model: 'm',
      server: 'llama-server',
      ...(chatTemplate ? { chatTemplate } : {}),
    } as const;
    const engine = createCompletionEngine(options);
    const model = await engine.loadModel();
    assert.deepEqual([model.chatTemplate, model.toolTemplate], expected);
    await engine.close();
    await like.close();
  }
});

it('discovers the vocabulary size of sglang, which crashes on invalid token ids, and refuses such ids', async () => {
  const generatedBodies: FakeLlamaBody[] = [];
  await using server = await startTestEngine('sglang', {
    '/server_info': replyWith({ incremental_streaming_output: true }),
    '/generate': (response, body, call) => {
      generatedBodies.push(body);
      replyWith({ error: { message: 'logit_bias must has keys in [0, 49151], got 2147483647.' } }, 400)(
        response,
        body,
        call,
      );
    },
  });
  assert.equal((await server.engine.loadModel()).vocabularySize, 49_152);
  const request = {
    id: 'r',
    owner: { workspace: 'w', key: 'k' },
    input: { type: 'tokens', tokens: [5, 49_152] },
    sampling: {},
    stop: { strings: [], tokens: [] },
    choices: 1,
    phases: [],
  } as const;
  await assert.rejects(server.engine.start(request, new AbortController().signal), { kind: 'invalid-request' });
  assert.deepEqual(generatedBodies, [
    { input_ids: [0], sampling_params: { max_new_tokens: 1, logit_bias: { '2147483647': 0 } } },
  ]);
});
