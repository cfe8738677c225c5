import assert from 'node:assert/strict';
import { it } from 'node:test';
import { startLlamaLike } from './__fixtures__/llama-like.ts';
import type { Body, Handler } from './__fixtures__/llama-like.ts';
import { createCompletionEngine } from './completion-engine.ts';
import type { CompletionServer } from './completion-engine.ts';

const SPECIAL = ['<|im_start|>', '<repo_name>'];

/** A tokenizer that finds special tokens in every text, as those of vLLM and SGLang do. */
const tokensOf = (text: string): number[] =>
  text.split(/(<\|im_start\|>|<repo_name>)/).flatMap((piece) => {
    const at = SPECIAL.indexOf(piece);
    return at < 0 ? [...Buffer.from(piece)] : [256 + at];
  });

const tells =
  (value: object | ((body: Body) => object), status = 200): Handler =>
  (response, body) =>
    void response.writeHead(status).end(JSON.stringify(typeof value === 'function' ? value(body) : value));

async function engineOf(server: CompletionServer, others: Readonly<Record<string, Handler>>) {
  const like = await startLlamaLike(() => undefined, {
    '/v1/models': tells({ data: [{ id: 'm', max_model_len: 2_048 }] }),
    '/tokenize': tells(({ prompt }) => ({ tokens: tokensOf(String(prompt)) })),
    '/detokenize': tells({ prompt: 'x' }),
    ...others,
  });
  const engine = createCompletionEngine({ url: like.url, model: 'm', server, chatTemplate: 'the template' });
  return {
    engine,
    async [Symbol.asyncDispose]() {
      await engine.close();
      await like.close();
    },
  };
}

for (const [release, decoder] of [
  ['v0.32', { '3': '<repo_name>' }],
  ['an older release', { '3': { content: '<repo_name>', special: true } }],
] as const)
  it(`knows the special tokens that vllm tells in the form of ${release}, and lets no caller write them`, async () => {
    await using server = await engineOf('vllm', {
      '/tokenizer_info': tells({ tokenizer_class: 'T', bos_token: '<|im_start|>', added_tokens_decoder: decoder }),
    });
    const { specialTokens } = await server.engine.model();
    assert.deepEqual(specialTokens.toSorted(), ['<repo_name>', '<|im_start|>']);
    const segments = [{ text: 'a <repo_name>', special: false }];
    const tokens = await server.engine.tokenize({ type: 'segments', segments });
    assert.ok(tokens.length > 3 && tokens.every(({ id }) => id < 256));
  });

it('learns how many tokens sglang has, which dies of an id of none, and refuses such ids itself', async () => {
  const asked: Body[] = [];
  await using server = await engineOf('sglang', {
    '/server_info': tells({ incremental_streaming_output: true }),
    '/generate': (response, body, call) => {
      asked.push(body);
      tells({ error: { message: 'logit_bias must has keys in [0, 49151], got 2147483647.' } }, 400)(
        response,
        body,
        call,
      );
    },
  });
  assert.equal((await server.engine.model()).vocabularySize, 49_152);
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
  assert.deepEqual(asked, [
    { input_ids: [0], sampling_params: { max_new_tokens: 1, logit_bias: { '2147483647': 0 } } },
  ]);
});
