import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ask, REQUEST_ID } from '../../fields/__fixtures__/ask.ts';
import { fineTunes } from './endpoint.ts';

const endpoints = fineTunes();

test('the list is empty, in the shape of a full one', async () => {
  const list = endpoints.find(({ operation }) => operation === 'fine-tunes.list');
  assert.ok(list);
  const { status, body } = await ask(list, { query: 'page_no=2&page_size=5' });
  assert.equal(status, 200);
  assert.equal(
    JSON.stringify(body),
    `{"request_id":"${REQUEST_ID}","output":{"page_no":2,"page_size":5,"total":0,"jobs":[]}}`,
  );
});

test('none can be made, and no id leads to one', async () => {
  for (const endpoint of endpoints) {
    if (endpoint.operation === 'fine-tunes.list') continue;
    const { status, body } = await ask(endpoint, { params: { id: 'ft-1' }, body: {} });
    const { code, message } = body as { code: string; message: string };
    if (endpoint.operation === 'fine-tunes.create') {
      assert.deepEqual([status, code], [400, 'UnsupportedOperation']);
      assert.match(message, /^Fine-tunes are not served: nothing is trained here\.$/);
    } else assert.deepEqual([status, code, message], [404, 'NotFound', 'Not found!'], endpoint.path);
  }
});
