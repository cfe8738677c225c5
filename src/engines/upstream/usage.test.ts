import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Usage } from '../../core/event.ts';
import type { EngineRequest } from '../engine.ts';
import { REQUEST } from './__fixtures__/request.ts';
import { streamed, testServer } from './__fixtures__/server.ts';
import type { Reply } from './__fixtures__/server.ts';
import type { UpstreamOptions } from './upstream-engine.ts';

const say = (content: string, index = 0): object => ({ choices: [{ index, delta: { content } }] });
const finish = (index = 0): object => ({ choices: [{ index, delta: {}, finish_reason: 'stop' }] });
const told = (usage: unknown): object => ({ choices: [], usage });

async function usageOf(
  events: readonly object[],
  {
    change = {},
    options = {},
    replies = {},
  }: {
    readonly change?: Partial<EngineRequest>;
    readonly options?: Partial<UpstreamOptions>;
    readonly replies?: Readonly<Record<string, Reply>>;
  } = {},
): Promise<Usage | undefined> {
  await using server = await testServer({ ...replies, '/v1/chat/completions': streamed(...events) });
  const { batches } = await server.engine(options).start({ ...REQUEST, ...change }, new AbortController().signal);
  const all = [];
  for await (const batch of batches) all.push(...batch);
  const end = all.at(-1);
  return end?.type === 'end' ? end.usage : undefined;
}

const SAID = [say('a'), say('b'), finish()];

test('usage is taken from wherever it comes: an event of its own, every event, or the last one with a choice', async () => {
  const expected = { promptTokens: 7, cachedTokens: 3, completionTokens: 2 };
  const whole = { prompt_tokens: 7, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 3 } };
  assert.deepEqual(await usageOf([...SAID, told(whole)]), expected);
  assert.deepEqual(
    await usageOf([
      { ...say('a'), usage: { ...whole, completion_tokens: 1 } },
      { ...say('b'), usage: whole },
      { ...finish(), usage: whole },
    ]),
    expected,
  );
  assert.deepEqual(await usageOf([say('a'), say('b'), { ...finish(), usage: whole }]), expected);
});

test('what cannot be is not told on, and fails no answer', async () => {
  assert.deepEqual(
    await usageOf([
      ...SAID,
      told({
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
    { prompt_tokens: 'x', completion_tokens: 1.5, prompt_tokens_details: 3, completion_tokens_details: 'y' },
  ]) {
    assert.deepEqual(await usageOf([...SAID, told(odd)]), least, JSON.stringify(odd));
  }
});

test('what the server does not tell is counted with its tokenizer', async () => {
  const asked: unknown[] = [];
  const replies = {
    '/tokenize': (body: unknown, response: { end: (text: string) => unknown }) => {
      asked.push(body);
      const isChat = typeof body === 'object' && body !== null && 'messages' in body;
      response.end(JSON.stringify({ count: isChat ? 11 : 4, tokens: isChat ? Array(11).fill(0) : [1, 2, 3, 4] }));
    },
  } satisfies Readonly<Record<string, Reply>>;
  const options = { kind: 'vllm' } as const;
  assert.deepEqual(await usageOf(SAID, { options, replies }), {
    promptTokens: 11,
    cachedTokens: 0,
    completionTokens: 4,
  });
  assert.deepEqual(asked, [
    { model: 'their-model', messages: [{ role: 'user', content: 'Hi' }] },
    { model: 'their-model', prompt: 'ab', add_special_tokens: false },
  ]);
  asked.length = 0;
  const half = told({ prompt_tokens: 3, completion_tokens: 0 });
  assert.equal((await usageOf([...SAID, half], { options, replies }))?.completionTokens, 4);
  assert.equal(asked.length, 1);
});

test('a tokenizer that fails leaves the least that is known', async () => {
  const replies = { '/tokenize': { status: 500, body: { error: 'boom' } } };
  assert.deepEqual(await usageOf(SAID, { options: { kind: 'sglang' }, replies }), {
    promptTokens: 0,
    cachedTokens: 0,
    completionTokens: 2,
  });
});

test('a server that tells of each choice by itself is added up, its prompt counted once', async () => {
  const usage = (cached: number): object =>
    told({ prompt_tokens: 32, completion_tokens: 5, prompt_tokens_details: { cached_tokens: cached } });
  assert.deepEqual(
    await usageOf([say('a'), finish(), usage(0), say('b', 1), finish(1), usage(31)], {
      change: { choices: 2 },
      options: { kind: 'llama-server' },
    }),
    { promptTokens: 32, cachedTokens: 0, completionTokens: 10 },
  );
});
