import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callEndpoint, TEST_REQUEST_ID } from '../../fields/__fixtures__/test-endpoint-call.ts';
import { createRerankEndpoint } from './endpoint.ts';

const endpoint = createRerankEndpoint({
  rank: async ({ top }) => ({
    results: [
      { index: 1, score: 0.93 },
      { index: 0, score: 0.34 },
    ].slice(0, top),
    promptTokens: 79,
  }),
});

const create = (body: object) =>
  callEndpoint(endpoint, { body: { model: 'm', query: 'q', documents: ['a', 'b'], ...body } });

test('returns the golden object, with documents if requested', async () => {
  const { body } = await create({ top_n: 1, return_documents: true });
  assert.equal(
    JSON.stringify(body),
    '{"object":"list","results":[{"index":1,"relevance_score":0.93,"document":{"text":"b"}}],' +
      `"model":"m","usage":{"total_tokens":79},"id":"${TEST_REQUEST_ID}"}`,
  );
});

for (const change of [{ documents: [] }, { documents: 'a' }, { documents: [{}] }, { query: 5 }, { top_n: 0 }]) {
  test(`refuses ${JSON.stringify(change)}`, async () => {
    const { status, body } = await create(change);
    const { error } = body as { error: { code: string; param: string } };
    assert.deepEqual([status, error.code], [400, 'invalid_parameter_error']);
    assert.ok(error.param.startsWith(Object.keys(change)[0] ?? '?'));
  });
}
