import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServerKind } from '../../core/server-kind.ts';
import type { Rankings } from '../engine.ts';
import { REQUEST } from './__fixtures__/test-request.ts';
import { startFakeServer } from './__fixtures__/fake-server.ts';

const { id, owner } = REQUEST;

async function rankDocuments(kind: ServerKind | undefined, answer: unknown, owned = 'x'): Promise<Rankings> {
  await using server = await startFakeServer({
    '/v1/models': { data: [{ owned_by: owned }] },
    '/v1/rerank': (body, response) => {
      assert.deepEqual(body, { model: 'their-model', query: 'q', documents: ['a', 'b'] });
      response.end(JSON.stringify(answer));
    },
  });
  const { ranking } = server.createEngine({ kind });
  assert.ok(ranking);
  const documents = ['a', 'b'].map((text) => ({ text, field: 'documents' }));
  return await ranking.rank(
    { id, owner, query: { text: 'q', field: 'query' }, documents },
    new AbortController().signal,
  );
}

test('keeps probabilities, in the order of the documents', async () => {
  const results = [
    { index: 1, relevance_score: 0.9, document: { text: 'b' } },
    { index: 0, relevance_score: 0.1 },
  ];
  assert.deepEqual(await rankDocuments('vllm', { results, usage: { total_tokens: 8 } }), {
    scores: [0.1, 0.9],
    tokens: 8,
  });
});

test('converts all logits of llama-server to probabilities', async () => {
  const results = [
    { index: 0, relevance_score: 0 },
    { index: 1, relevance_score: -1000 },
  ];
  const { scores } = await rankDocuments(undefined, { results, usage: { prompt_tokens: 8 } }, 'llamacpp');
  assert.deepEqual(scores, [0.5, 0]);
});

test('reads a list of scores, and converts all of them if one is no probability', async () => {
  const { scores, tokens } = await rankDocuments('sglang', [
    { index: 0, score: 2 },
    { index: 1, score: 0 },
  ]);
  assert.deepEqual(scores, [1 / (1 + Math.exp(-2)), 0.5]);
  assert.equal(tokens, 2);
});

test('fails for missing scores', async () => {
  await assert.rejects(rankDocuments('vllm', { results: [{ index: 0, relevance_score: 1 }] }), {
    kind: 'upstream-failed',
  });
  await assert.rejects(rankDocuments('vllm', { data: [] }), { kind: 'upstream-failed' });
});

test('has no ranking for a server that cannot rank', async () => {
  await using server = await startFakeServer({});
  assert.equal(server.createEngine({ kind: 'openai' }).ranking, undefined);
});
