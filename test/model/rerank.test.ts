import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { startParley } from '../clients/harness.ts';
import type { ParleyProcess } from '../clients/harness.ts';
import { getWeightsSkipReason } from '../models-folder.ts';
import { RANKING_TOKENS, createRankingModel } from '../../src/weights/__fixtures__/ranking-model.ts';
import { RANKING_TEMPLATE, createTemplateRankingModel } from './__fixtures__/template-ranking-model.ts';
import { openTestLlama } from './test-llama.ts';

const QUERY = 'what colour is the sea';
const DOCUMENTS = ['cats chase mice at night', 'the sea is blue', 'colour of bread', 'what is bread'];

/** Indices by relevance: the documents share no, three, one and two words with the query. */
const ORDER = [1, 3, 2, 0];

/** Special tokens of a pair: one at its start and one between query and document. */
const SEPARATOR_TOKENS = 2;

const countWords = (text: string): number => text.split(' ').length;
const countTokens = (documents: readonly string[]): number =>
  documents.reduce((sum, text) => sum + countWords(QUERY) + countWords(text) + SEPARATOR_TOKENS, 0);

/** Opens the embedded engine on a model file with these bytes. */
async function openRanker(bytes: Uint8Array) {
  const folder = await mkdtemp(join(tmpdir(), 'parley-ranking-'));
  const file = join(folder, 'ranking.gguf');
  await writeFile(file, bytes);
  const llama = await openTestLlama('ranking', file);
  return {
    engine: llama.engine,
    async rank(query: string, documents: readonly string[], signal = new AbortController().signal) {
      const { ranking } = llama.engine;
      assert.ok(ranking);
      return await ranking.rank(
        {
          id: 'r',
          owner: { workspace: 'w', key: 'k' },
          query: { text: query, field: 'query' },
          documents: documents.map((text, at) => ({ text, field: `documents[${at}]` })),
        },
        signal,
      );
    },
    async close() {
      await llama.close();
      await rm(folder, { recursive: true });
    },
  };
}

type Ranker = Awaited<ReturnType<typeof openRanker>>;

describe('the llama engine with a ranking model', () => {
  let ranker: Ranker;
  before(async () => {
    ranker = await openRanker(createRankingModel());
  });
  after(() => ranker.close());

  const rank: Ranker['rank'] = (...args) => ranker.rank(...args);

  it('scores between 0 and 1, by the words that query and document share', async () => {
    const { scores, tokens } = await rank(QUERY, DOCUMENTS);
    assert.equal(scores.length, DOCUMENTS.length);
    const [none = 0, three = 1, one = 0, two = 0] = scores;
    assert.ok(0 < none && none < one && one < two && two < three && three < 1, scores.join());
    assert.ok(none < 0.1 && three > 0.9, scores.join());
    assert.equal(tokens, countTokens(DOCUMENTS));
  });

  it('gives a pair the same score whatever other requests run', async () => {
    const { scores } = await rank(QUERY, DOCUMENTS);
    const again = await Promise.all(DOCUMENTS.map((document) => rank(QUERY, [document])));
    assert.deepEqual(
      again.map((one) => one.scores),
      scores.map((score) => [score]),
    );
    const [backwards, other] = await Promise.all([rank(QUERY, DOCUMENTS.toReversed()), rank('cats', DOCUMENTS)]);
    assert.deepEqual(backwards.scores.toReversed(), scores);
    assert.equal(other.scores.indexOf(Math.max(...other.scores)), 0);
  });

  it('ignores letter case, and treats unknown words as unrelated', async () => {
    const [plain = 0, loud = 1, strange = 1, marks = 1] = (
      await rank('sea', ['blue sea', 'BLUE Sea', '\u6d77 \ud83c\udf0a', '[CLS] [SEP]'])
    ).scores;
    assert.equal(plain, loud);
    assert.ok(strange < 0.1 && marks < 0.1);
  });

  it('accepts a pair up to the context length, and names the document that exceeds it', async () => {
    const wordsMax = RANKING_TOKENS - 1 - SEPARATOR_TOKENS - countWords(QUERY);
    const long = 'bread '.repeat(wordsMax).trimEnd();
    assert.equal((await rank(QUERY, [long])).tokens, RANKING_TOKENS - 1);
    await assert.rejects(rank(QUERY, ['blue', `${long} bread`]), {
      kind: 'invalid-request',
      param: 'documents[1]',
      message: 'Range of input length should be [1, 255] (documents[1]: with the query 256 tokens)',
    });
  });

  it('refuses embeddings, because the model gives scores', async () => {
    const { embeddings } = ranker.engine;
    assert.ok(embeddings);
    const embedding = embeddings.embed(
      { id: 'r', owner: { workspace: 'w', key: 'k' }, inputs: [{ text: 'sea', field: 'input' }] },
      new AbortController().signal,
    );
    await assert.rejects(embedding, { kind: 'unsupported', param: 'model' });
  });

  it('stops when the caller aborts, and serves the next request', async () => {
    const caller = new AbortController();
    const ranking = rank(QUERY, Array<string>(500).fill('the sea is blue'), caller.signal);
    caller.abort();
    await assert.rejects(ranking, { kind: 'cancelled' });
    assert.equal((await rank(QUERY, DOCUMENTS)).scores.length, DOCUMENTS.length);
  });
});

describe('the llama engine with a ranking model that has a template', () => {
  let ranker: Ranker;
  before(async () => {
    ranker = await openRanker(createTemplateRankingModel());
  });
  after(() => ranker.close());

  it('scores between 0 and 1, and the same each time', async () => {
    const { scores } = await ranker.rank(QUERY, DOCUMENTS);
    assert.ok(scores.every((score) => score > 0 && score < 1));
    assert.equal(new Set(scores).size, DOCUMENTS.length);
    const again = await ranker.rank(QUERY, DOCUMENTS.toReversed());
    assert.deepEqual(again.scores.toReversed(), scores);
  });

  it('counts the tokens of the template, and reads markup in a text as text', async () => {
    const empty = RANKING_TEMPLATE.replaceAll(/\{\w+\}/g, '').replaceAll(/<\|\w+\|>/g, '*').length;
    assert.equal((await ranker.rank('sea', ['blue'])).tokens, empty + 'seablue'.length);
    const mark = '<|im_end|>';
    assert.equal((await ranker.rank('sea', [mark])).tokens, empty + 'sea'.length + mark.length);
    assert.equal((await ranker.rank('{document}', ['{query}'])).tokens, empty + '{document}{query}'.length);
  });
});

describe('a service whose svc-rerank has a ranking model', { skip: getWeightsSkipReason('svc-plus') }, () => {
  let parley: ParleyProcess;
  before(async () => {
    parley = await startParley({ withRankingModel: true });
  });
  after(() => parley.stop());

  const post = async (path: string, body: object) => {
    const answer = await fetch(`${parley.address}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${parley.key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  };

  interface Result {
    readonly index: number;
    readonly relevance_score: number;
    readonly document?: { readonly text: string };
  }

  /** For each interface: sends a request with these options, and returns the parsed response. */
  const INTERFACES = {
    compatible: async (options: object, documents: readonly string[] = DOCUMENTS) => {
      const { status, body } = await post('/compatible-api/v1/reranks', {
        model: 'qwen3-rerank',
        query: QUERY,
        documents,
        ...options,
      });
      return { status, body, results: body['results'] as Result[], fields: 'object,results,model,usage,id' };
    },
    native: async (parameters: object, documents: readonly string[] = DOCUMENTS) => {
      const { status, body } = await post('/api/v1/services/rerank/text-rerank/text-rerank', {
        model: 'gte-rerank-v2',
        input: { query: QUERY, documents },
        parameters,
      });
      const output = body['output'] as { results: Result[] } | undefined;
      return { status, body, results: output?.results ?? [], fields: 'output,usage,request_id' };
    },
  } as const;

  for (const [name, ask] of Object.entries(INTERFACES)) {
    it(`${name}: answers with all documents, best first, and with the tokens of every pair`, async () => {
      const { status, body, results, fields } = await ask({});
      assert.equal(status, 200, JSON.stringify(body));
      assert.equal(Object.keys(body).join(), fields);
      assert.deepEqual(
        results.map(({ index }) => index),
        ORDER,
      );
      for (const [at, { relevance_score }] of results.entries())
        assert.ok(relevance_score <= (results[at - 1]?.relevance_score ?? 1) && relevance_score > 0);
      assert.ok(results.every((result) => Object.keys(result).join() === 'index,relevance_score'));
      assert.deepEqual(body['usage'], { total_tokens: countTokens(DOCUMENTS) });
    });

    it(`${name}: returns top_n documents, with their texts on request`, async () => {
      const { body, results } = await ask({ top_n: 2, return_documents: true });
      assert.deepEqual(
        results.map(({ index, document }) => [index, document]),
        ORDER.slice(0, 2).map((index) => [index, { text: DOCUMENTS[index] }]),
      );
      assert.deepEqual(body['usage'], { total_tokens: countTokens(DOCUMENTS) }, 'the usage counts all documents');
      assert.equal((await ask({ top_n: 99 })).results.length, DOCUMENTS.length);
    });

    it(`${name}: refuses a document above the limit and an empty list, naming the field`, async () => {
      const long = await ask({}, ['blue', 'bread '.repeat(RANKING_TOKENS)]);
      assert.equal(long.status, 400);
      assert.match(
        JSON.stringify(long.body),
        /Range of input length should be \[1, 255\] \((input\.)?documents\[1\]: /,
      );
      const none = await ask({}, []);
      assert.equal(none.status, 400);
      assert.match(JSON.stringify(none.body), /documents must be an array of 1 to 500 strings/);
    });
  }

  it('gives the same results on both interfaces', async () => {
    const [compatible, native] = await Promise.all([INTERFACES.compatible({}), INTERFACES.native({})]);
    assert.deepEqual(compatible.results, native.results);
  });

  it('reports at its start that reranking is on, and refuses a model of another kind', async () => {
    const output = await parley.waitForOutput(/Reranking +\w/);
    assert.match(output, /Reranking +on/);
    assert.match(output, /Reranking \(native\) +on/);
    const { status, body } = await post('/compatible-api/v1/reranks', {
      model: 'svc-plus',
      query: QUERY,
      documents: DOCUMENTS,
    });
    assert.equal(status, 404);
    assert.match(JSON.stringify(body), /Unsupported model svc-plus for reranking/);
  });
});
