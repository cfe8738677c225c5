import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EmbeddingEngine, Embeddings } from '../engine.ts';
import { REQUEST } from './__fixtures__/test-request.ts';
import { startFakeServer, type FakeReply } from './__fixtures__/fake-server.ts';

const { id, owner } = REQUEST;

async function embedTexts(reply: FakeReply, texts: readonly string[] = ['a', 'b'], base = '/v1'): Promise<Embeddings> {
  await using server = await startFakeServer({ [`${base}/embeddings`]: reply, '/tokenize': { tokens: [1, 2, 3] } });
  const inputs = texts.map((text, index) => ({ text, field: `input[${index}]` }));
  const engine = server.createEngine({ kind: 'llama-server', url: `${server.baseUrl}${base}` });
  return await requireEngine(engine.embeddings).embed({ id, owner, inputs }, new AbortController().signal);
}

function requireEngine(engine: EmbeddingEngine | undefined): EmbeddingEngine {
  assert.ok(engine);
  return engine;
}

test('returns vectors in the order of their texts, with the reported tokens', async () => {
  const data = [
    { index: 1, embedding: [3, 4] },
    { index: 0, embedding: [1, 2] },
  ];
  assert.deepEqual(await embedTexts({ data, usage: { prompt_tokens: 2, total_tokens: 2 } }), {
    vectors: [
      [1, 2],
      [3, 4],
    ],
    tokens: 2,
  });
  assert.equal((await embedTexts({ data })).tokens, 3);
});

test('reads the list format of a route without a version', async () => {
  const list = [
    { index: 0, embedding: [[1, 2]] },
    { index: 1, embedding: [[3, 4]] },
  ];
  const { vectors } = await embedTexts((_, response) => response.end(JSON.stringify(list)), ['a', 'b'], '');
  assert.deepEqual(vectors, [
    [1, 2],
    [3, 4],
  ]);
});

test('queries the dimensions once', async () => {
  await using server = await startFakeServer({ '/v1/embeddings': { data: [{ embedding: [1, 2, 3] }] } });
  const engine = requireEngine(server.createEngine({ kind: 'openai' }).embeddings);
  assert.deepEqual([await engine.getDimensions(), await engine.getDimensions()], [3, 3]);
  assert.deepEqual(
    server.requests.map(({ body }) => body),
    [{ model: 'their-model', input: ['a'], encoding_format: 'float' }],
  );
});

test('fails for missing vectors, different lengths and invalid responses', async () => {
  for (const data of [
    [],
    [{ embedding: [1] }],
    [{ embedding: [1] }, { embedding: [1, 2] }],
    [
      { index: 0, embedding: [1] },
      { index: 0, embedding: [1] },
    ],
    [
      { index: 0, embedding: [1] },
      { index: 2, embedding: [1] },
    ],
    [{ embedding: [] }, { embedding: [] }],
    'AAAA',
  ]) {
    await assert.rejects(embedTexts({ data }), { kind: 'upstream-failed' }, JSON.stringify(data));
  }
});

test('names the field of a text that is too long, and passes on the message of a server without embeddings', async () => {
  const error = { message: 'input is too long', type: 'exceed_context_size_error' };
  const tooLong = { status: 500, body: { error } };
  await assert.rejects(embedTexts(tooLong, ['a']), {
    kind: 'invalid-request',
    param: 'input[0]',
    message: error.message,
  });
  await assert.rejects(embedTexts(tooLong), { kind: 'invalid-request', param: undefined });
  const tooLarge = { code: 500, message: 'input (5001 tokens) is too large to process. increase the batch size' };
  await assert.rejects(embedTexts({ status: 500, body: { error: tooLarge } }, ['a']), {
    kind: 'invalid-request',
    param: 'input[0]',
  });
  const none = { status: 501, body: { error: { code: 501, message: 'Start it with --embeddings' } } };
  await assert.rejects(embedTexts(none), { kind: 'unsupported', message: 'Start it with --embeddings' });
});
