import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { test } from 'node:test';
import type { Generate } from '../generation/generation.ts';
import { END, OPEN, START, chatRequest, connectRaw, say, startHttp } from './__fixtures__/test-http.ts';

/** Says `Hel`, then waits for `go`. */
function gated(): { readonly generate: Generate; readonly go: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  const generate: Generate = () => {
    const batches = (async function* () {
      yield [START, OPEN, say('Hel')];
      await promise;
      yield [say('lo'), ...END];
    })();
    return Promise.resolve({ batches, ignored: [] });
  };
  return { generate, go: resolve };
}

test('what runs may end, nobody new is taken, then every connection is closed', async () => {
  const { generate, go } = gated();
  await using front = await startHttp({ generate });
  using peer = connectRaw(front.port, chatRequest());
  using idle = connectRaw(front.port, 'GET /health HTTP/1.1\r\n\r\n');
  await idle.until('ok"}');
  await peer.until('Hel');
  const closed = front.http.close({ graceMs: 10_000 });
  await idle.rest();
  using late = connectRaw(front.port, chatRequest());
  assert.equal(await late.rest(), '');
  go();
  assert.match(await peer.rest(), /"lo"[^]*data: \[DONE\]/);
  await closed;
  assert.equal(front.http.inFlight(), 0);
});

test('a request on a kept connection is refused while draining, and the connection closed', async () => {
  const { generate, go } = gated();
  await using front = await startHttp({ generate });
  // Pipelined: the second one is read when the first was answered, on a connection that was busy at the start.
  using peer = connectRaw(front.port, chatRequest());
  await peer.until('Hel');
  const closed = front.http.close({ graceMs: 10_000 });
  peer.socket.write(chatRequest());
  while (front.http.inFlight() < 2) await turn();
  go();
  const text = await peer.rest();
  const second = text.slice(text.lastIndexOf('HTTP/1.1'));
  assert.match(second, /^HTTP\/1\.1 503 /);
  assert.match(second, /^connection: close$/im);
  assert.match(second, /^retry-after: \d+$/im);
  await closed;
});

test('after the grace time what still runs is broken off in its protocol’s way', async () => {
  const { generate } = gated();
  await using front = await startHttp({ generate });
  using streamed = connectRaw(front.port, chatRequest());
  await streamed.until('Hel');
  using plain = connectRaw(front.port, chatRequest('{"model":"svc-plus","messages":[{"role":"user","content":"x"}]}'));
  while (front.http.inFlight() < 2) await turn();
  await front.http.close({ graceMs: 5 });
  const text = await streamed.rest();
  assert.match(text, /data: \{"error":\{"message":"The service is shutting down\."[^]*"code":"ServiceUnavailable"/);
  assert.ok(!text.includes('[DONE]'));
  assert.match(await plain.rest(), /^HTTP\/1\.1 503 /);
  assert.equal(front.http.inFlight(), 0);
});

test('closing does not wait for work that is deaf to its signal', async () => {
  const never = Promise.withResolvers<never>();
  await using front = await startHttp({ generate: () => never.promise, limits: { abortGraceMs: 5 } });
  using peer = connectRaw(front.port, chatRequest());
  while (front.http.inFlight() === 0) await turn();
  await front.http.close({ graceMs: 1 });
  assert.match(await peer.rest(), /^HTTP\/1\.1 503 /);
});

test('a port that is taken is an error, and nothing is left listening', async () => {
  await using one = await startHttp();
  await assert.rejects(
    startHttp({
      listeners: [
        { host: '127.0.0.1', port: 0, region: 'cn-beijing' },
        { host: '127.0.0.1', port: one.port, region: 'cn-beijing' },
      ],
    }),
    { code: 'EADDRINUSE' },
  );
});
