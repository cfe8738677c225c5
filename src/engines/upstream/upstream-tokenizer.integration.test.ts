import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EngineInput } from '../engine.ts';
import { startFakeServer } from './__fixtures__/fake-server.ts';

const CHAT: EngineInput = { type: 'messages', messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }] };
const TEXT: EngineInput = { type: 'segments', segments: [{ text: 'a<|x|>', special: false }] };

test('renders the prompt first for a server that tokenizes prompts', async () => {
  await using server = await startFakeServer({
    '/apply-template': { prompt: '<|user|>Hi' },
    '/tokenize': (body, response) =>
      response.end(
        typeof body === 'object' && body && 'with_pieces' in body
          ? '{"tokens":[{"id":10813,"piece":[240,159]},{"id":7,"piece":" hi"}]}'
          : '{"tokens":[1,2,3]}',
      ),
  });
  const engine = server.createEngine({ kind: 'llama-server' });
  assert.equal(await engine.countTokens(CHAT), 3);
  assert.equal(await engine.countTokens(TEXT), 3);
  assert.deepEqual(await engine.tokenize(TEXT), [
    { id: 10813, text: '�' },
    { id: 7, text: ' hi' },
  ]);
  assert.deepEqual(
    server.requests.filter(({ body }) => body !== undefined).map(({ path, body }) => [path, body]),
    [
      ['/apply-template', { model: 'their-model', messages: [{ role: 'user', content: 'Hi' }] }],
      ['/tokenize', { content: '<|user|>Hi', add_special: true, parse_special: true }],
      ['/tokenize', { content: 'a<|x|>', add_special: false, parse_special: false }],
      ['/tokenize', { content: 'a<|x|>', add_special: false, parse_special: false, with_pieces: true }],
    ],
  );
});

test('sends the chat to a server that tokenizes chats, and reads token texts if available', async () => {
  const replies = { '/tokenize': { tokens: [5, 6], count: 2 }, '/detokenize': { text: ['a', 'b'] } };
  await using server = await startFakeServer(replies);
  const sglang = server.createEngine({ kind: 'sglang' });
  assert.equal(await sglang.countTokens(CHAT), 2);
  assert.deepEqual(await sglang.tokenize(TEXT), [
    { id: 5, text: 'a' },
    { id: 6, text: 'b' },
  ]);
  assert.deepEqual(server.requests.at(-1)?.body, {
    model: 'their-model',
    tokens: [[5], [6]],
    skip_special_tokens: false,
  });
  const vllm = server.createEngine({ kind: 'vllm' });
  assert.equal(await vllm.countTokens(TEXT), 2);
  await assert.rejects(vllm.tokenize(TEXT), { kind: 'unsupported' });
});

test('refuses images, and everything for a server without a tokenizer', async () => {
  await using server = await startFakeServer({});
  const input: EngineInput = {
    type: 'messages',
    messages: [{ role: 'user', content: [{ type: 'image', url: 'data:,' }] }],
  };
  await assert.rejects(server.createEngine({ kind: 'llama-server' }).countTokens(input), { kind: 'unsupported' });
  for (const kind of ['openai', 'unknown'] as const) {
    await assert.rejects(server.createEngine({ kind }).countTokens(CHAT), { kind: 'unsupported' });
    await assert.rejects(server.createEngine({ kind }).tokenize(TEXT), { kind: 'unsupported' });
  }
});
