import assert from 'node:assert/strict';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { test } from 'node:test';
import type { Generate } from '../generation/generation.ts';
import {
  END_EVENTS,
  BLOCK_START_EVENT,
  START_EVENT,
  chatRequest,
  connectRaw,
  createTextDelta,
  startTestHttp,
} from './__fixtures__/test-http.ts';

const PLAIN_BODY = '{"model":"svc-plus","messages":[{"role":"user","content":"x"}]}';

/** Creates a generation that emits `Hel`, then waits for `resume`. */
function createPausedGenerate(): { readonly generate: Generate; readonly resume: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  const generate: Generate = () => {
    const batches = (async function* () {
      yield [START_EVENT, BLOCK_START_EVENT, createTextDelta('Hel')];
      await promise;
      yield [createTextDelta('lo'), ...END_EVENTS];
    })();
    return Promise.resolve({ batches, ignored: [] });
  };
  return { generate, resume: resolve };
}

test('finishes running requests, rejects new connections, then closes every connection', async () => {
  const { generate, resume } = createPausedGenerate();
  await using server = await startTestHttp({ generate });
  using peer = connectRaw(server.port, chatRequest());
  using idle = connectRaw(server.port, 'GET /health HTTP/1.1\r\n\r\n');
  await idle.readUntil('ok"}');
  await peer.readUntil('Hel');
  const closed = server.http.close({ graceMs: 10_000 });
  await idle.readToEnd();
  using late = connectRaw(server.port, chatRequest());
  assert.equal(await late.readToEnd(), '');
  resume();
  assert.match(await peer.readToEnd(), /"lo"[^]*data: \[DONE\]/);
  await closed;
  assert.equal(server.http.countInFlight(), 0);
});

test('rejects a request on an open connection while draining and closes the connection', async () => {
  const [first, other] = [createPausedGenerate(), createPausedGenerate()];
  let calls = 0;
  await using server = await startTestHttp({
    generate: (...args) => ((calls += 1) === 1 ? first : other).generate(...args),
  });
  // Pipelined: the second request starts after the first is answered, on a connection that was busy when draining began.
  using peer = connectRaw(server.port, chatRequest() + chatRequest());
  await peer.readUntil('Hel');
  // The service drains until this stream ends.
  using busy = connectRaw(server.port, chatRequest());
  await busy.readUntil('Hel');
  const closed = server.http.close({ graceMs: 10_000 });
  assert.equal(server.http.countInFlight(), 2);
  first.resume();
  const text = await peer.readToEnd();
  other.resume();
  const second = text.slice(text.lastIndexOf('HTTP/1.1'));
  assert.match(second, /^HTTP\/1\.1 503 /);
  assert.match(second, /^connection: close$/im);
  assert.match(second, /^retry-after: \d+$/im);
  await closed;
});

test('announces in each response while draining that the connection closes', async () => {
  const gates = [createPausedGenerate(), createPausedGenerate()];
  let calls = 0;
  await using server = await startTestHttp({
    generate: (...args) => gates[calls++]?.generate(...args) ?? Promise.reject(new Error('too many calls')),
  });
  using plain = connectRaw(server.port, chatRequest(PLAIN_BODY) + chatRequest(PLAIN_BODY));
  while (calls < 1) await yieldToEventLoop();
  using aborted = connectRaw(server.port, chatRequest(PLAIN_BODY) + chatRequest(PLAIN_BODY));
  while (calls < 2) await yieldToEventLoop();
  const closed = server.http.close({ graceMs: 50 });
  gates[0]?.resume();
  assert.match(await plain.readToEnd(), /^HTTP\/1\.1 200 [^]*^connection: close\r$[^]*"Hello"/im);
  assert.match(await aborted.readToEnd(), /^HTTP\/1\.1 503 [^]*^connection: close\r$/im);
  await closed;
});

for (const [name, count] of [
  ['one request that waits', 1],
  ['requests that are not read yet', 100],
] as const)
  test(`refuses ${name} behind a stream that ends while draining`, async () => {
    for (const graceMs of [10_000, 5]) {
      const { generate, resume } = createPausedGenerate();
      await using server = await startTestHttp({ generate });
      using peer = connectRaw(server.port, chatRequest() + chatRequest().repeat(count));
      await peer.readUntil('Hel');
      const closed = server.http.close({ graceMs });
      if (graceMs > 5) resume();
      const text = await peer.readToEnd();
      const next = text.slice(text.lastIndexOf('HTTP/1.1'));
      assert.match(next, /^HTTP\/1\.1 503 [^]*^connection: close\r$/im);
      await closed;
    }
  });

test('refuses requests that wait on many connections when their streams end at the same time', async () => {
  const { generate, resume } = createPausedGenerate();
  await using server = await startTestHttp({ generate });
  const peers = Array.from({ length: 50 }, () => connectRaw(server.port, chatRequest() + chatRequest()));
  await Promise.all(peers.map((peer) => peer.readUntil('Hel')));
  const closed = server.http.close({ graceMs: 10_000 });
  resume();
  const texts = await Promise.all(peers.map((peer) => peer.readToEnd()));
  assert.deepEqual(
    texts.filter((text) => !/\[DONE\][^]*HTTP\/1\.1 503 /.test(text)),
    [],
  );
  await closed;
});

test('aborts running requests after the grace time as their protocol prescribes', async () => {
  const { generate } = createPausedGenerate();
  await using server = await startTestHttp({ generate });
  using streamed = connectRaw(server.port, chatRequest());
  await streamed.readUntil('Hel');
  using plain = connectRaw(server.port, chatRequest(PLAIN_BODY));
  while (server.http.countInFlight() < 2) await yieldToEventLoop();
  await server.http.close({ graceMs: 5 });
  const text = await streamed.readToEnd();
  assert.match(text, /data: \{"error":\{"message":"The service is shutting down\."[^]*"code":"ServiceUnavailable"/);
  assert.ok(!text.includes('[DONE]'));
  assert.match(await plain.readToEnd(), /^HTTP\/1\.1 503 /);
  assert.equal(server.http.countInFlight(), 0);
});

test('closes without waiting for work that ignores its signal', async () => {
  const never = Promise.withResolvers<never>();
  await using server = await startTestHttp({ generate: () => never.promise, limits: { abortGraceMs: 5 } });
  using peer = connectRaw(server.port, chatRequest());
  while (server.http.countInFlight() === 0) await yieldToEventLoop();
  await server.http.close({ graceMs: 1 });
  assert.match(await peer.readToEnd(), /^HTTP\/1\.1 503 /);
});

test('rejects with EADDRINUSE and closes all listeners when a port is in use', async () => {
  await using other = await startTestHttp();
  await assert.rejects(
    startTestHttp({
      listeners: [
        { host: '127.0.0.1', port: 0, region: 'cn-beijing' },
        { host: '127.0.0.1', port: other.port, region: 'cn-beijing' },
      ],
    }),
    { code: 'EADDRINUSE' },
  );
});
