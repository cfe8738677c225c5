import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ask, REQUEST_ID } from '../../fields/__fixtures__/ask.ts';
import { rerank } from './endpoint.ts';

const endpoint = rerank({
  rank: async ({ top }) => ({
    results: [
      { index: 1, score: 0.93 },
      { index: 0, score: 0.34 },
    ].slice(0, top),
    promptTokens: 79,
  }),
});

const create = (body: object) => ask(endpoint, { body: { model: 'm', query: 'q', documents: ['a', 'b'], ...body } });

test('answers the golden object, with the documents where they are wanted', async () => {
  const { body } = await create({ top_n: 1, return_documents: true });
  assert.equal(
    JSON.stringify(body),
    '{"object":"list","results":[{"index":1,"relevance_score":0.93,"document":{"text":"b"}}],' +
      `"model":"m","usage":{"total_tokens":79},"id":"${REQUEST_ID}"}`,
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
