import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../../../core/error.ts';
import type { RankRequest } from '../../../generation/rank.ts';
import { callEndpoint, TEST_REQUEST_ID } from '../../fields/__fixtures__/test-endpoint-call.ts';
import { createTextRerankEndpoint } from './endpoint.ts';

function createTestEndpoint() {
  const requests: RankRequest[] = [];
  const endpoint = createTextRerankEndpoint({
    async rank(request) {
      requests.push(request);
      const results = [
        { index: 1, score: 0.93 },
        { index: 0, score: 0.34 },
      ];
      return { results, promptTokens: 79 };
    },
  });
  return { requests, create: (body: unknown) => callEndpoint(endpoint, { body }) };
}

const input = { query: 'q', documents: ['a', 'b'] };

test('answers the golden object, with documents on request', async () => {
  const { create, requests } = createTestEndpoint();
  const { body } = await create({ model: 'm', input, parameters: { top_n: 2 } });
  assert.equal(
    JSON.stringify(body),
    '{"output":{"results":[{"index":1,"relevance_score":0.93},{"index":0,"relevance_score":0.34}]},' +
      `"usage":{"total_tokens":79},"request_id":"${TEST_REQUEST_ID}"}`,
  );
  assert.deepEqual(requests, [
    {
      model: 'm',
      query: { text: 'q', field: 'input.query' },
      documents: [
        { text: 'a', field: 'input.documents[0]' },
        { text: 'b', field: 'input.documents[1]' },
      ],
      top: 2,
    },
  ]);
  const withDocuments = await create({ model: 'm', input, parameters: { return_documents: true, instruct: 'x' } });
  const { output } = withDocuments.body as { output: { results: unknown[] } };
  assert.deepEqual(output.results[0], { index: 1, relevance_score: 0.93, document: { text: 'b' } });
  assert.deepEqual(withDocuments.headers, { 'x-parley-ignored': 'parameters.instruct' });
});

for (const [change, expected] of [
  [{ documents: [] }, /input\.documents must be an array of 1 to 500 strings/],
  [{ documents: [1] }, /input\.documents must be an array of strings/],
  [{ query: '' }, /input\.query must have at least 1 characters/],
  [{ query: undefined }, /^Required parameter\(input\.query\) missing/],
] as const) {
  test(`rejects ${JSON.stringify(change)}`, async () => {
    const { status, body } = await createTestEndpoint().create({ model: 'm', input: { ...input, ...change } });
    assert.deepEqual([status, (body as { code: string }).code], [400, 'InvalidParameter']);
    assert.match((body as { message: string }).message, expected);
  });
}

test('encodes the error of a service without a reranking model', async () => {
  const refusal = new ServiceError('unsupported', 'svc-rerank: No reranking model is configured.', { param: 'model' });
  const endpoint = createTextRerankEndpoint({ rank: () => Promise.reject(refusal) });
  assert.deepEqual(await callEndpoint(endpoint, { body: { model: 'gte-rerank-v2', input } }), {
    status: 400,
    body: {
      code: 'UnsupportedOperation',
      message: 'svc-rerank: No reranking model is configured.',
      request_id: TEST_REQUEST_ID,
    },
    headers: {},
  });
});
