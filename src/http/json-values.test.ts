import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startHttp } from './__fixtures__/test-http.ts';

const post = (url: string, body: string): Promise<Response> =>
  fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: 'Bearer sk-good', 'content-type': 'application/json' },
    body,
  });

test('a body of millions of tiny values is refused before anything is made of it', async () => {
  await using front = await startHttp();
  const values = `[${'{},'.repeat(3_000_000)}{}]`;
  const answer = await post(front.url, `{"model":"svc-plus","messages":[{"role":"user","content":${values}}]}`);
  assert.equal(answer.status, 400);
  assert.match(await answer.text(), /more than 200000 values/);
});

test('commas and brackets inside strings do not count', async () => {
  await using front = await startHttp();
  const content = JSON.stringify(`${'[{,"\\'.repeat(100_000)} the end`);
  const answer = await post(front.url, `{"model":"svc-plus","messages":[{"role":"user","content":${content}}]}`);
  assert.equal(answer.status, 200);
});
