import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EngineInput } from '../engine.ts';
import { testServer } from './__fixtures__/server.ts';

const CHAT: EngineInput = { type: 'messages', messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }] };
const TEXT: EngineInput = { type: 'segments', segments: [{ text: 'a<|x|>', special: false }] };

test('a server that tokenizes prompts is first asked for the prompt', async () => {
  await using server = await testServer({
    '/apply-template': { prompt: '<|user|>Hi' },
    '/tokenize': (body, response) =>
      response.end(
        typeof body === 'object' && body && 'with_pieces' in body
          ? '{"tokens":[{"id":10813,"piece":[240,159]},{"id":7,"piece":" hi"}]}'
          : '{"tokens":[1,2,3]}',
      ),
  });
  const engine = server.engine({ kind: 'llama-server' });
  assert.equal(await engine.countTokens(CHAT), 3);
  assert.equal(await engine.countTokens(TEXT), 3);
  assert.deepEqual(await engine.tokenize(TEXT), [
    { id: 10813, text: '�' },
    { id: 7, text: ' hi' },
  ]);
  assert.deepEqual(
    server.asked.filter(({ body }) => body !== undefined).map(({ path, body }) => [path, body]),
    [
      ['/apply-template', { model: 'their-model', messages: [{ role: 'user', content: 'Hi' }] }],
      ['/tokenize', { content: '<|user|>Hi', add_special: true, parse_special: true }],
      ['/tokenize', { content: 'a<|x|>', add_special: false, parse_special: false }],
      ['/tokenize', { content: 'a<|x|>', add_special: false, parse_special: false, with_pieces: true }],
    ],
  );
});

test('a server that tokenizes chats is asked with the chat, and for texts where it tells them', async () => {
  const replies = { '/tokenize': { tokens: [5, 6], count: 2 }, '/detokenize': { text: ['a', 'b'] } };
  await using server = await testServer(replies);
  const sglang = server.engine({ kind: 'sglang' });
  assert.equal(await sglang.countTokens(CHAT), 2);
  assert.deepEqual(await sglang.tokenize(TEXT), [
    { id: 5, text: 'a' },
    { id: 6, text: 'b' },
  ]);
  assert.deepEqual(server.asked.at(-1)?.body, {
    model: 'their-model',
    tokens: [[5], [6]],
    skip_special_tokens: false,
  });
  const vllm = server.engine({ kind: 'vllm' });
  assert.equal(await vllm.countTokens(TEXT), 2);
  await assert.rejects(vllm.tokenize(TEXT), { kind: 'unsupported' });
});

test('what a server cannot count is refused: images, or anything where it has no tokenizer', async () => {
  await using server = await testServer({});
  const input: EngineInput = {
    type: 'messages',
    messages: [{ role: 'user', content: [{ type: 'image', url: 'data:,' }] }],
  };
  await assert.rejects(server.engine({ kind: 'llama-server' }).countTokens(input), { kind: 'unsupported' });
  for (const kind of ['openai', 'unknown'] as const) {
    await assert.rejects(server.engine({ kind }).countTokens(CHAT), { kind: 'unsupported' });
    await assert.rejects(server.engine({ kind }).tokenize(TEXT), { kind: 'unsupported' });
  }
});
