import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callEndpoint, TEST_REQUEST_ID } from '../../fields/__fixtures__/test-endpoint-call.ts';
import { createFineTuneEndpoints } from './endpoint.ts';

const endpoints = createFineTuneEndpoints();

test('lists no jobs, with all fields of a list', async () => {
  const list = endpoints.find(({ operation }) => operation === 'fine-tunes.list');
  assert.ok(list);
  const { status, body } = await callEndpoint(list, { query: 'page_no=2&page_size=5' });
  assert.equal(status, 200);
  assert.equal(
    JSON.stringify(body),
    `{"request_id":"${TEST_REQUEST_ID}","output":{"page_no":2,"page_size":5,"total":0,"jobs":[]}}`,
  );
});

test('rejects a creation, and answers every id with 404 and the path', async () => {
  for (const endpoint of endpoints) {
    if (endpoint.operation === 'fine-tunes.list') continue;
    const { status, body } = await callEndpoint(endpoint, {
      params: { id: 'ft-1', checkpoint: 'c', output: 'o' },
      body: {},
    });
    const { code, message } = body as { code: string; message: string };
    if (endpoint.operation === 'fine-tunes.create') {
      assert.deepEqual([status, code], [400, 'UnsupportedOperation']);
      assert.match(message, /^Fine-tunes are not served: this service does not train models\.$/);
    } else {
      const path = endpoint.path.replace(':id', 'ft-1').replace(':checkpoint', 'c').replace(':output', 'o');
      assert.deepEqual([status, code, message], [404, 'NotFound', `Not found! (${endpoint.method} ${path})`]);
    }
  }
});
