import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EmbeddingEngine, Embeddings } from '../engine.ts';
import { REQUEST } from './__fixtures__/request.ts';
import { testServer } from './__fixtures__/server.ts';
import type { Reply } from './__fixtures__/server.ts';

const { id, owner } = REQUEST;

async function embedded(reply: Reply, texts: readonly string[] = ['a', 'b'], base = '/v1'): Promise<Embeddings> {
  await using server = await testServer({ [`${base}/embeddings`]: reply, '/tokenize': { tokens: [1, 2, 3] } });
  const inputs = texts.map((text, index) => ({ text, field: `input[${index}]` }));
  const engine = server.engine({ kind: 'llama-server', url: `${server.base}${base}` });
  return await engineOf(engine.embeddings).embed({ id, owner, inputs }, new AbortController().signal);
}

function engineOf(engine: EmbeddingEngine | undefined): EmbeddingEngine {
  assert.ok(engine);
  return engine;
}

test('vectors come in the order of their texts, with what the server counted', async () => {
  const data = [
    { index: 1, embedding: [3, 4] },
    { index: 0, embedding: [1, 2] },
  ];
  assert.deepEqual(await embedded({ data, usage: { prompt_tokens: 2, total_tokens: 2 } }), {
    vectors: [
      [1, 2],
      [3, 4],
    ],
    tokens: 2,
  });
  assert.equal((await embedded({ data })).tokens, 3);
});

test('the form that one server has beside the version is read too', async () => {
  const list = [
    { index: 0, embedding: [[1, 2]] },
    { index: 1, embedding: [[3, 4]] },
  ];
  const { vectors } = await embedded((_, response) => response.end(JSON.stringify(list)), ['a', 'b'], '');
  assert.deepEqual(vectors, [
    [1, 2],
    [3, 4],
  ]);
});

test('the length of the vectors is asked for once', async () => {
  await using server = await testServer({ '/v1/embeddings': { data: [{ embedding: [1, 2, 3] }] } });
  const engine = engineOf(server.engine({ kind: 'openai' }).embeddings);
  assert.deepEqual([await engine.dimensions(), await engine.dimensions()], [3, 3]);
  assert.deepEqual(
    server.asked.map(({ body }) => body),
    [{ model: 'their-model', input: ['a'], encoding_format: 'float' }],
  );
});

test('fewer vectors, vectors of other lengths and what is none are failures', async () => {
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
    await assert.rejects(embedded({ data }), { kind: 'upstream-failed' }, JSON.stringify(data));
  }
});

test('a text that is too long is refused by its field, a server without vectors in its own words', async () => {
  const error = { message: 'input is too long', type: 'exceed_context_size_error' };
  const tooLong = { status: 500, body: { error } };
  await assert.rejects(embedded(tooLong, ['a']), {
    kind: 'invalid-request',
    param: 'input[0]',
    message: error.message,
  });
  await assert.rejects(embedded(tooLong), { kind: 'invalid-request', param: undefined });
  const tooLarge = { code: 500, message: 'input (5001 tokens) is too large to process. increase the batch size' };
  await assert.rejects(embedded({ status: 500, body: { error: tooLarge } }, ['a']), {
    kind: 'invalid-request',
    param: 'input[0]',
  });
  const none = { status: 501, body: { error: { code: 501, message: 'Start it with --embeddings' } } };
  await assert.rejects(embedded(none), { kind: 'unsupported', message: 'Start it with --embeddings' });
});
