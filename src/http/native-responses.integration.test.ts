import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../lib/clock.ts';
import { createTextGenerationEndpoint } from '../protocols/native/generation/endpoint.ts';
import {
  END_EVENTS,
  BLOCK_START_EVENT,
  START_EVENT,
  createTestCatalogue,
  toAsyncIterable,
  createTextDelta,
  startTestHttp,
  rejectTranslation,
} from './__fixtures__/test-http.ts';
import { ServiceError } from '../core/error.ts';

const PATH = '/api/v1/services/aigc/text-generation/generation';

async function* breaking() {
  yield [START_EVENT, BLOCK_START_EVENT, createTextDelta('Hel')];
  throw new ServiceError('engine-failed', 'It stopped.');
}

/** Starts a server with the native endpoint, whose generation emits Hello or `batches`. */
const start = (
  batches: () => AsyncIterable<readonly (typeof START_EVENT)[]> = () =>
    toAsyncIterable([[START_EVENT, BLOCK_START_EVENT, createTextDelta('Hello'), ...END_EVENTS]]),
) =>
  startTestHttp({
    more: [
      createTextGenerationEndpoint({
        generate: () => Promise.resolve({ batches: batches(), ignored: [] }),
        translate: rejectTranslation,
        catalogue: createTestCatalogue,
        clock: systemClock,
      }),
    ],
  });

const post = (
  url: string,
  headers: Record<string, string> = {},
  body: object = { model: 'svc-plus', input: { prompt: 'Hi' } },
) =>
  fetch(url + PATH, {
    method: 'POST',
    headers: { authorization: 'Bearer sk-good', 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });

test('sends the request id in header and body, and the headers of the native family', async () => {
  await using server = await start();
  const response = await post(server.url);
  const body = (await response.json()) as { request_id: string; output: object };
  assert.deepEqual(body.output, { finish_reason: 'stop', text: 'Hello' });
  const { headers } = response;
  assert.equal(headers.get('x-request-id'), body.request_id);
  assert.equal(headers.get('content-type'), 'application/json');
  assert.equal(headers.get('x-dashscope-finished'), 'true');
  assert.equal(headers.get('cache-control'), 'no-cache');
  assert.equal(
    Number(headers.get('req-arrive-time')) + Number(headers.get('req-cost-time')),
    Number(headers.get('resp-start-time')),
  );
  const compatible = await server.chat();
  assert.equal(compatible.headers.get('req-arrive-time'), null);
});

test('ends a native stream with its last event and uses one request id throughout', async () => {
  await using server = await start();
  const response = await post(server.url, { 'X-DashScope-SSE': 'Enable' });
  assert.equal(response.headers.get('content-type'), 'text/event-stream;charset=UTF-8');
  assert.equal(response.headers.get('x-dashscope-finished'), 'false');
  const id = response.headers.get('x-request-id');
  assert.equal(
    await response.text(),
    `id:1\nevent:result\n:HTTP_STATUS/200\ndata:{"output":{"finish_reason":"stop","text":"Hello"},"usage":{"input_tokens":3,"output_tokens":2,"prompt_tokens_details":{"cached_tokens":0},"total_tokens":5},"request_id":"${id}"}\n\n`,
  );
});

test('sends a failure after the head as an event, and one before it as JSON with its status', async () => {
  await using server = await start(breaking);
  const broken = await (await post(server.url, { accept: 'text/event-stream' })).text();
  assert.match(
    broken,
    /^id:1\nevent:result\n:HTTP_STATUS\/200\ndata:.*"text":"Hel".*\n\nid:2\nevent:error\n:HTTP_STATUS\/500\ndata:\{"code":"InternalError","message":"[^"]*","request_id":"[^"]*"\}\n\n$/,
  );
  for (const [headers, body, status, code] of [
    [{ authorization: 'Bearer sk-bad' }, {}, 401, 'InvalidApiKey'],
    [{ 'x-dashscope-workspace': 'other' }, {}, 403, 'Workspace.AccessDenied'],
    [{}, { model: 'nope', input: { prompt: 'x' } }, 404, 'ModelNotFound'],
    [{}, { model: 'svc-plus', input: {} }, 400, 'InvalidParameter'],
  ] as const) {
    const response = await post(server.url, { 'x-svc-sse': 'enable', ...headers }, body);
    assert.equal(response.status, status);
    assert.equal(response.headers.get('content-type'), 'application/json');
    const answer = (await response.json()) as Record<string, string>;
    assert.deepEqual(Object.keys(answer), ['code', 'message', 'request_id']);
    assert.deepEqual([answer['code'], answer['request_id']], [code, response.headers.get('x-request-id')]);
    assert.equal(response.headers.get('x-dashscope-call-gateway'), 'true');
  }
});
