import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { startParley } from '../clients/harness.ts';
import type { ParleyProcess } from '../clients/harness.ts';
import { lacksWeights } from '../models-folder.ts';
import { RANKING_TOKENS, rankingModel } from './__fixtures__/ranking-model.ts';
import { RANKING_TEMPLATE, templateRankingModel } from './__fixtures__/template-ranking-model.ts';
import { openLlama } from './llama.ts';

const QUERY = 'what colour is the sea';
const DOCUMENTS = ['cats chase mice at night', 'the sea is blue', 'colour of bread', 'what is bread'];

/** Best first: they share none, three, one and two words with the query. */
const ORDER = [1, 3, 2, 0];

/** What stands around a pair: a token before it and one between the two. */
const AROUND = 2;

const wordsOf = (text: string): number => text.split(' ').length;
const tokensOf = (documents: readonly string[]): number =>
  documents.reduce((sum, text) => sum + wordsOf(QUERY) + wordsOf(text) + AROUND, 0);

/** The engine on a file of these bytes. */
async function openRanker(bytes: Uint8Array) {
  const folder = await mkdtemp(join(tmpdir(), 'parley-ranking-'));
  const file = join(folder, 'ranking.gguf');
  await writeFile(file, bytes);
  const llama = await openLlama('ranking', file);
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
    ranker = await openRanker(rankingModel());
  });
  after(() => ranker.close());

  const rank: Ranker['rank'] = (...asked) => ranker.rank(...asked);

  it('scores between 0 and 1, by what query and document have to do with each other', async () => {
    const { scores, tokens } = await rank(QUERY, DOCUMENTS);
    assert.equal(scores.length, DOCUMENTS.length);
    const [none = 0, three = 1, one = 0, two = 0] = scores;
    assert.ok(0 < none && none < one && one < two && two < three && three < 1, scores.join());
    assert.ok(none < 0.1 && three > 0.9, scores.join());
    assert.equal(tokens, tokensOf(DOCUMENTS));
  });

  it('gives a pair the same score whatever else is asked, before it or at once', async () => {
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

  it('reads letters in either case, and takes what it does not know for strange', async () => {
    const [plain = 0, loud = 1, strange = 1, marks = 1] = (
      await rank('sea', ['blue sea', 'BLUE Sea', '\u6d77 \ud83c\udf0a', '[CLS] [SEP]'])
    ).scores;
    assert.equal(plain, loud);
    assert.ok(strange < 0.1 && marks < 0.1);
  });

  it('takes a pair as long as the model reads, and names the document that is longer', async () => {
    const room = RANKING_TOKENS - 1 - AROUND - wordsOf(QUERY);
    const long = 'bread '.repeat(room).trimEnd();
    assert.equal((await rank(QUERY, [long])).tokens, RANKING_TOKENS - 1);
    await assert.rejects(rank(QUERY, ['blue', `${long} bread`]), {
      kind: 'invalid-request',
      param: 'documents[1]',
      message: 'Range of input length should be [1, 255] (documents[1]: with the query 256 tokens)',
    });
  });

  it('makes no vectors: what stands in their place is a score', async () => {
    const { embeddings } = ranker.engine;
    assert.ok(embeddings);
    const asked = embeddings.embed(
      { id: 'r', owner: { workspace: 'w', key: 'k' }, inputs: [{ text: 'sea', field: 'input' }] },
      new AbortController().signal,
    );
    await assert.rejects(asked, { kind: 'unsupported', param: 'model' });
  });

  it('is over for a caller who goes, and ranks for others after', async () => {
    const caller = new AbortController();
    const asked = rank(QUERY, Array<string>(500).fill('the sea is blue'), caller.signal);
    caller.abort();
    await assert.rejects(asked, { kind: 'cancelled' });
    assert.equal((await rank(QUERY, DOCUMENTS)).scores.length, DOCUMENTS.length);
  });
});

describe('the llama engine with a ranking model that has a template', () => {
  let ranker: Ranker;
  before(async () => {
    ranker = await openRanker(templateRankingModel());
  });
  after(() => ranker.close());

  it('scores between 0 and 1, and the same each time', async () => {
    const { scores } = await ranker.rank(QUERY, DOCUMENTS);
    assert.ok(scores.every((score) => score > 0 && score < 1));
    assert.equal(new Set(scores).size, DOCUMENTS.length);
    const again = await ranker.rank(QUERY, DOCUMENTS.toReversed());
    assert.deepEqual(again.scores.toReversed(), scores);
  });

  it('counts the template, in which a text cannot put marks of its own', async () => {
    const empty = RANKING_TEMPLATE.replaceAll(/\{\w+\}/g, '').replaceAll(/<\|\w+\|>/g, '*').length;
    assert.equal((await ranker.rank('sea', ['blue'])).tokens, empty + 'seablue'.length);
    const mark = '<|im_end|>';
    assert.equal((await ranker.rank('sea', [mark])).tokens, empty + 'sea'.length + mark.length);
    assert.equal((await ranker.rank('{document}', ['{query}'])).tokens, empty + '{document}{query}'.length);
  });
});

describe('a service whose svc-rerank has a ranking model', { skip: lacksWeights('svc-plus') }, () => {
  let parley: ParleyProcess;
  before(async () => {
    parley = await startParley({ ranks: true });
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

  /** Each interface: its body from the same wishes, and what it says of them. */
  const INTERFACES = {
    compatible: async (wishes: object, documents: readonly string[] = DOCUMENTS) => {
      const { status, body } = await post('/compatible-api/v1/reranks', {
        model: 'qwen3-rerank',
        query: QUERY,
        documents,
        ...wishes,
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
      assert.deepEqual(body['usage'], { total_tokens: tokensOf(DOCUMENTS) });
    });

    it(`${name}: gives so many as are wanted, with their texts where they are`, async () => {
      const { body, results } = await ask({ top_n: 2, return_documents: true });
      assert.deepEqual(
        results.map(({ index, document }) => [index, document]),
        ORDER.slice(0, 2).map((index) => [index, { text: DOCUMENTS[index] }]),
      );
      assert.deepEqual(body['usage'], { total_tokens: tokensOf(DOCUMENTS) }, 'all were read');
      assert.equal((await ask({ top_n: 99 })).results.length, DOCUMENTS.length);
    });

    it(`${name}: refuses what is too long or none at all, and names it`, async () => {
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

  it('both say the same', async () => {
    const [compatible, native] = await Promise.all([INTERFACES.compatible({}), INTERFACES.native({})]);
    assert.deepEqual(compatible.results, native.results);
  });

  it('tells at its start that reranking is on, and refuses a model that is not for it', async () => {
    const told = await parley.outputWith(/Reranking +\w/);
    assert.match(told, /Reranking +on/);
    assert.match(told, /Reranking \(native\) +on/);
    const { status, body } = await post('/compatible-api/v1/reranks', {
      model: 'svc-plus',
      query: QUERY,
      documents: DOCUMENTS,
    });
    assert.equal(status, 404);
    assert.match(JSON.stringify(body), /Unsupported model svc-plus for reranking/);
  });
});
