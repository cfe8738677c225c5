import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startFakeServer, type FakeReply } from './__fixtures__/fake-server.ts';

const never = new AbortController().signal;
const empty: FakeReply = (_, response) => response.end();

test('requests the health route with the key, or else the list of models', async () => {
  await using server = await startFakeServer({ '/health': empty, '/v1/models': { data: [] } });
  for (const kind of ['vllm', 'sglang', 'llama-server', 'openai'] as const)
    await server.createEngine({ kind, apiKey: 'sk-1' }).probe?.(never);
  assert.deepEqual(
    server.requests.map(({ path, headers }) => [path, headers.authorization]),
    [...Array.from({ length: 3 }, () => ['/health', 'Bearer sk-1']), ['/v1/models', 'Bearer sk-1']],
  );
});

test('fails for a server that is loading, rejects the key, fails or is unreachable', async () => {
  let status = 503;
  await using server = await startFakeServer({ '/health': (_, response) => response.writeHead(status).end() });
  const engine = server.createEngine({ kind: 'llama-server' });
  await assert.rejects(async () => engine.probe?.(never), { kind: 'overloaded' });
  for (status of [401, 403, 404, 500])
    await assert.rejects(async () => engine.probe?.(never), { kind: 'upstream-failed' });
  await assert.rejects(async () => engine.probe?.(AbortSignal.abort()), { kind: 'cancelled' });
  const gone = server.createEngine({ kind: 'vllm', url: 'http://127.0.0.1:1' });
  await assert.rejects(async () => gone.probe?.(never), { kind: 'upstream-failed' });
});

test('passes for a server without a list of models', async () => {
  await using server = await startFakeServer({});
  await server.createEngine().probe?.(never);
});
