import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestHttp } from './__fixtures__/test-http.ts';

const post = (url: string, body: string): Promise<Response> =>
  fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: 'Bearer sk-good', 'content-type': 'application/json' },
    body,
  });

test('rejects a body with millions of values before parsing it', async () => {
  await using server = await startTestHttp();
  const values = `[${'{},'.repeat(3_000_000)}{}]`;
  const response = await post(server.url, `{"model":"svc-plus","messages":[{"role":"user","content":${values}}]}`);
  assert.equal(response.status, 400);
  assert.match(await response.text(), /more than 200000 values/);
});

test('does not count commas and brackets inside strings', async () => {
  await using server = await startTestHttp();
  const content = JSON.stringify(`${'[{,"\\'.repeat(100_000)} the end`);
  const response = await post(server.url, `{"model":"svc-plus","messages":[{"role":"user","content":${content}}]}`);
  assert.equal(response.status, 200);
});
