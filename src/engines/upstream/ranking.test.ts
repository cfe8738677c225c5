import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServerKind } from '../../core/server-kind.ts';
import type { Rankings } from '../engine.ts';
import { REQUEST } from './__fixtures__/request.ts';
import { testServer } from './__fixtures__/server.ts';

const { id, owner } = REQUEST;

async function ranked(kind: ServerKind | undefined, answer: unknown, owned = 'x'): Promise<Rankings> {
  await using server = await testServer({
    '/v1/models': { data: [{ owned_by: owned }] },
    '/v1/rerank': (body, response) => {
      assert.deepEqual(body, { model: 'their-model', query: 'q', documents: ['a', 'b'] });
      response.end(JSON.stringify(answer));
    },
  });
  const { ranking } = server.engine({ kind });
  assert.ok(ranking);
  const documents = ['a', 'b'].map((text) => ({ text, field: 'documents' }));
  return await ranking.rank(
    { id, owner, query: { text: 'q', field: 'query' }, documents },
    new AbortController().signal,
  );
}

test('probabilities stay as they are, in the order of the documents', async () => {
  const results = [
    { index: 1, relevance_score: 0.9, document: { text: 'b' } },
    { index: 0, relevance_score: 0.1 },
  ];
  assert.deepEqual(await ranked('vllm', { results, usage: { total_tokens: 8 } }), { scores: [0.1, 0.9], tokens: 8 });
});

test('the logits of llama-server become probabilities, whatever they are', async () => {
  const results = [
    { index: 0, relevance_score: 0 },
    { index: 1, relevance_score: -1000 },
  ];
  const { scores } = await ranked(undefined, { results, usage: { prompt_tokens: 8 } }, 'llamacpp');
  assert.deepEqual(scores, [0.5, 0]);
});

test('a list of scores is read too, and one score that is no probability makes all of them logits', async () => {
  const { scores, tokens } = await ranked('sglang', [
    { index: 0, score: 2 },
    { index: 1, score: 0 },
  ]);
  assert.deepEqual(scores, [1 / (1 + Math.exp(-2)), 0.5]);
  assert.equal(tokens, 2);
});

test('fewer scores than documents are a failure', async () => {
  await assert.rejects(ranked('vllm', { results: [{ index: 0, relevance_score: 1 }] }), { kind: 'upstream-failed' });
  await assert.rejects(ranked('vllm', { data: [] }), { kind: 'upstream-failed' });
});

test('a server that does not rank has no part for it', async () => {
  await using server = await testServer({});
  assert.equal(server.engine({ kind: 'openai' }).ranking, undefined);
});
