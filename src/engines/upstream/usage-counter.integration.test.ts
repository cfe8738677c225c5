import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Usage } from '../../core/event.ts';
import type { EngineRequest } from '../engine.ts';
import { REQUEST } from './__fixtures__/test-request.ts';
import { replyWithStream, startFakeServer, type FakeReply } from './__fixtures__/fake-server.ts';
import type { UpstreamEngineOptions } from './upstream-engine.ts';

const createTextChunk = (content: string, index = 0): object => ({ choices: [{ index, delta: { content } }] });
const createFinishChunk = (index = 0): object => ({ choices: [{ index, delta: {}, finish_reason: 'stop' }] });
const createUsageChunk = (usage: unknown): object => ({ choices: [], usage });

async function readUsage(
  events: readonly object[],
  {
    change = {},
    options = {},
    replies = {},
  }: {
    readonly change?: Partial<EngineRequest>;
    readonly options?: Partial<UpstreamEngineOptions>;
    readonly replies?: Readonly<Record<string, FakeReply>>;
  } = {},
): Promise<Usage | undefined> {
  await using server = await startFakeServer({ ...replies, '/v1/chat/completions': replyWithStream(...events) });
  const { batches } = await server.createEngine(options).start({ ...REQUEST, ...change }, new AbortController().signal);
  const all = [];
  for await (const batch of batches) all.push(...batch);
  const end = all.at(-1);
  return end?.type === 'end' ? end.usage : undefined;
}

const TEXT_CHUNKS = [createTextChunk('a'), createTextChunk('b'), createFinishChunk()];

test('reads usage from an own event, from every event, or from the last one with a choice', async () => {
  const expected = { promptTokens: 7, cachedTokens: 3, completionTokens: 2 };
  const whole = { prompt_tokens: 7, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 3 } };
  assert.deepEqual(await readUsage([...TEXT_CHUNKS, createUsageChunk(whole)]), expected);
  assert.deepEqual(
    await readUsage([
      { ...createTextChunk('a'), usage: { ...whole, completion_tokens: 1 } },
      { ...createTextChunk('b'), usage: whole },
      { ...createFinishChunk(), usage: whole },
    ]),
    expected,
  );
  assert.deepEqual(
    await readUsage([createTextChunk('a'), createTextChunk('b'), { ...createFinishChunk(), usage: whole }]),
    expected,
  );
});

test('ignores impossible counts, without failing the answer', async () => {
  assert.deepEqual(
    await readUsage([
      ...TEXT_CHUNKS,
      createUsageChunk({
        prompt_tokens: 2,
        completion_tokens: 2,
        prompt_tokens_details: { cached_tokens: 9 },
        completion_tokens_details: { reasoning_tokens: 5 },
      }),
    ]),
    { promptTokens: 2, cachedTokens: 2, completionTokens: 2, reasoningTokens: 2 },
  );
  const least = { promptTokens: 0, cachedTokens: 0, completionTokens: 2 };
  for (const odd of [
    undefined,
    null,
    'much',
    { prompt_tokens: -1, completion_tokens: -5 },
    { prompt_tokens: 0, completion_tokens: 0 },
    { prompt_tokens: 9e15, completion_tokens: 2 ** 31, prompt_tokens_details: { cached_tokens: 2 ** 40 } },
    { prompt_tokens: 'x', completion_tokens: 1.5, prompt_tokens_details: 3, completion_tokens_details: 'y' },
  ]) {
    assert.deepEqual(await readUsage([...TEXT_CHUNKS, createUsageChunk(odd)]), least, JSON.stringify(odd));
  }
});

test('counts a call as at least as many tokens as its deltas', async () => {
  const piece = (of: object): object => ({
    choices: [{ index: 0, delta: { tool_calls: [{ index: 0, function: of }] } }],
  });
  const called = [piece({ name: 'f', arguments: '' }), piece({ arguments: '{"a":' }), piece({ arguments: '1}' })];
  const least = { promptTokens: 0, cachedTokens: 0, completionTokens: 3 };
  assert.deepEqual(await readUsage([...called, createFinishChunk()]), least);
  assert.deepEqual(
    await readUsage([...called, createFinishChunk(), createUsageChunk({ completion_tokens: 0 })]),
    least,
  );
});

test('counts unreported tokens with the tokenizer of the server', async () => {
  const tokenizeBodies: unknown[] = [];
  const replies = {
    '/tokenize': (body: unknown, response: { end: (text: string) => unknown }) => {
      tokenizeBodies.push(body);
      const isChat = typeof body === 'object' && body !== null && 'messages' in body;
      response.end(JSON.stringify({ count: isChat ? 11 : 4, tokens: isChat ? Array(11).fill(0) : [1, 2, 3, 4] }));
    },
  } satisfies Readonly<Record<string, FakeReply>>;
  const options = { kind: 'vllm' } as const;
  assert.deepEqual(await readUsage(TEXT_CHUNKS, { options, replies }), {
    promptTokens: 11,
    cachedTokens: 0,
    completionTokens: 4,
  });
  assert.deepEqual(tokenizeBodies, [
    { model: 'their-model', messages: [{ role: 'user', content: 'Hi' }] },
    { model: 'their-model', prompt: 'ab', add_special_tokens: false },
  ]);
  tokenizeBodies.length = 0;
  const half = createUsageChunk({ prompt_tokens: 3, completion_tokens: 0 });
  assert.equal((await readUsage([...TEXT_CHUNKS, half], { options, replies }))?.completionTokens, 4);
  assert.equal(tokenizeBodies.length, 1);
});

test('uses the lower bound if the tokenizer fails', async () => {
  const replies = { '/tokenize': { status: 500, body: { error: 'boom' } } };
  assert.deepEqual(await readUsage(TEXT_CHUNKS, { options: { kind: 'sglang' }, replies }), {
    promptTokens: 0,
    cachedTokens: 0,
    completionTokens: 2,
  });
});

test('adds the usage of all choices, and counts their prompt once', async () => {
  const usage = (cached: number): object =>
    createUsageChunk({ prompt_tokens: 32, completion_tokens: 5, prompt_tokens_details: { cached_tokens: cached } });
  assert.deepEqual(
    await readUsage(
      [createTextChunk('a'), createFinishChunk(), usage(0), createTextChunk('b', 1), createFinishChunk(1), usage(31)],
      {
        change: { choices: 2 },
        options: { kind: 'llama-server' },
      },
    ),
    { promptTokens: 32, cachedTokens: 0, completionTokens: 10 },
  );
});

test('reads the tokens of pictures and sound as SGLang reports them', async () => {
  // The last chunks of v0.5.23 for a picture and for sound.
  const picture = JSON.parse(
    '{"id":"2ed121e99c164ecd9ed6464414e46ad5","object":"chat.completion.chunk","created":1795672012,"model":"smollm2","choices":[],"usage":{"prompt_tokens":27,"total_tokens":30,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":26,"image_tokens":12},"reasoning_tokens":0,"completion_tokens_details":null}}',
  ) as object;
  const sound = JSON.parse(
    '{"id":"8c026607aa1a4a3abce2fc5a90cf09bb","object":"chat.completion.chunk","created":1795672489,"model":"smollm2","choices":[],"usage":{"prompt_tokens":46,"total_tokens":52,"completion_tokens":6,"prompt_tokens_details":{"cached_tokens":45,"audio_tokens":25},"reasoning_tokens":0,"completion_tokens_details":null}}',
  ) as object;
  assert.deepEqual(await readUsage([...TEXT_CHUNKS, picture]), {
    promptTokens: 27,
    cachedTokens: 26,
    imageTokens: 12,
    completionTokens: 3,
  });
  assert.deepEqual(await readUsage([...TEXT_CHUNKS, sound]), {
    promptTokens: 46,
    cachedTokens: 45,
    audioTokens: 25,
    completionTokens: 6,
  });
});

test('reads the tokens of pictures and sound as vLLM reports them', async () => {
  // The last chunks of v0.32.0 for a picture and for sound.
  const picture = JSON.parse(
    '{"id":"chatcmpl-b9220dad9f34dbae","object":"chat.completion.chunk","created":1795671577,"model":"smollm2","choices":[],"usage":{"prompt_tokens":27,"total_tokens":30,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":0,"created_cache_tokens":0,"multimodal_tokens":{"image":12}}},"system_fingerprint":"vllm-0.32.0-7b5ce3d5"}',
  ) as object;
  const sound = JSON.parse(
    '{"id":"chatcmpl-a90fa1046bb2691a","object":"chat.completion.chunk","created":1795672486,"model":"smollm2","choices":[],"usage":{"prompt_tokens":46,"total_tokens":52,"completion_tokens":6,"prompt_tokens_details":{"cached_tokens":0,"created_cache_tokens":0,"multimodal_tokens":{"audio":25}}},"system_fingerprint":"vllm-0.32.0-a45f5644"}',
  ) as object;
  const expected = { promptTokens: 27, cachedTokens: 0, completionTokens: 3 };
  assert.deepEqual(await readUsage([...TEXT_CHUNKS, picture]), { ...expected, imageTokens: 12 });
  assert.deepEqual(await readUsage([...TEXT_CHUNKS, sound]), {
    promptTokens: 46,
    cachedTokens: 0,
    audioTokens: 25,
    completionTokens: 6,
  });
  const readModalities = async (multimodal: unknown): Promise<Usage | undefined> => {
    const details = { cached_tokens: 0, multimodal_tokens: multimodal };
    const usage = { prompt_tokens: 27, completion_tokens: 3, prompt_tokens_details: details };
    return await readUsage([...TEXT_CHUNKS, createUsageChunk(usage)]);
  };
  assert.deepEqual(await readModalities({ audio: 9, image: 12 }), { ...expected, imageTokens: 12, audioTokens: 9 });
  // Neither null, for a request of text only, nor an unknown form may fail the answer.
  for (const modalities of [null, 12, { image: -1 }, { video: 8 }])
    assert.deepEqual(await readModalities(modalities), expected);
});

/** A chat with a picture between two texts. */
const createPictureRequest = (text: string): Partial<EngineRequest> => ({
  input: {
    type: 'messages',
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text },
          { type: 'image', url: 'data:image/png;base64,aGk=' },
          { type: 'text', text: 'now' },
        ],
      },
    ],
  },
});

test('counts the texts around pictures of llama-server, which reports all tokens of a prompt together', async () => {
  const bodies: unknown[] = [];
  const replies = {
    '/props': { modalities: { vision: true } },
    '/apply-template': (body: unknown, response) => {
      bodies.push(body);
      const { messages } = body as { messages: readonly [{ content: readonly { type: string; text?: string }[] }] };
      const prompt = messages[0].content.map(({ text }) => text ?? '<__media_Ab1__>').join('');
      response.end(JSON.stringify({ prompt: `<|user|>${prompt}<|end|>` }));
    },
    '/tokenize': (body: unknown, response) => {
      bodies.push(body);
      response.end(JSON.stringify({ tokens: [1, 2, 3, 4, 5] }));
    },
  } satisfies Readonly<Record<string, FakeReply>>;
  const read = async (text: string): Promise<Usage | undefined> =>
    await readUsage([...TEXT_CHUNKS, createUsageChunk({ prompt_tokens: 21, completion_tokens: 2 })], {
      change: createPictureRequest(text),
      options: { kind: 'llama-server' },
      replies,
    });
  const expected = { promptTokens: 21, cachedTokens: 0, completionTokens: 2 };
  assert.deepEqual(await read('Look'), { ...expected, imageTokens: 16 });
  assert.deepEqual(bodies[1], {
    content: ['<|user|>Look', 'now<|end|>'],
    add_special: true,
    parse_special: true,
  });
  assert.doesNotMatch(JSON.stringify(bodies[0]), /aGk=/);
  bodies.length = 0;
  // A caller's text that looks like the mark of a picture: it cannot be told which one is.
  assert.deepEqual(await read('<__media__>'), expected);
  assert.equal(bodies.length, 1);
});
