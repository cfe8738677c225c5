import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testServer } from './__fixtures__/server.ts';
import type { Reply } from './__fixtures__/server.ts';

const never = new AbortController().signal;
const empty: Reply = (_, response) => response.end();

test('a server is asked at its own place, with our key; others for their models', async () => {
  await using server = await testServer({ '/health': empty, '/v1/models': { data: [] } });
  for (const kind of ['vllm', 'sglang', 'llama-server', 'openai'] as const)
    await server.engine({ kind, apiKey: 'sk-1' }).probe?.(never);
  assert.deepEqual(
    server.asked.map(({ path, headers }) => [path, headers.authorization]),
    [...Array.from({ length: 3 }, () => ['/health', 'Bearer sk-1']), ['/v1/models', 'Bearer sk-1']],
  );
});

test('a server that is loading, refuses our key, fails or is not there does not pass', async () => {
  let status = 503;
  await using server = await testServer({ '/health': (_, response) => response.writeHead(status).end() });
  const engine = server.engine({ kind: 'llama-server' });
  await assert.rejects(async () => engine.probe?.(never), { kind: 'overloaded' });
  for (status of [401, 403, 404, 500])
    await assert.rejects(async () => engine.probe?.(never), { kind: 'upstream-failed' });
  await assert.rejects(async () => engine.probe?.(AbortSignal.abort()), { kind: 'cancelled' });
  const gone = server.engine({ kind: 'vllm', url: 'http://127.0.0.1:1' });
  await assert.rejects(async () => gone.probe?.(never), { kind: 'upstream-failed' });
});

test('a server without a list of models has answered', async () => {
  await using server = await testServer({});
  await server.engine().probe?.(never);
});
