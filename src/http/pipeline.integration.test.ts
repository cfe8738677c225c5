import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Endpoint } from '../protocols/endpoint.ts';
import { PIPELINED_BYTES_MAX, PIPELINED_REQUESTS_MAX } from './limits.ts';
import { connectRaw, startTestHttp } from './__fixtures__/test-http.ts';

/** Creates an endpoint whose calls wait until they are finished in order. */
function createGate() {
  const paths: string[] = [];
  const signals: AbortSignal[] = [];
  const waiting: (() => void)[] = [];
  const endpoint: Endpoint = {
    operation: 'test.gate',
    method: 'POST',
    path: '/compatible-mode/v1/gate/:id',
    family: 'compatible',
    regions: ['cn-beijing'],
    onDisconnect: 'cancel',
    handle: ({ params }, { signal }) => {
      paths.push(params['id'] ?? '');
      signals.push(signal);
      return new Promise((resolve) => {
        waiting.push(() => resolve({ type: 'json', status: 200, body: { id: params['id'] } }));
      });
    },
  };
  return { endpoint, paths, signals, finishNext: () => waiting.shift()?.() };
}

const post = (id: string | number, body = '{}'): string =>
  `POST /v1/gate/${id} HTTP/1.1\r\nauthorization: Bearer sk-good\r\ncontent-length: ${body.length}\r\n\r\n${body}`;

const HANDSHAKE =
  'GET /api-ws/v1/inference HTTP/1.1\r\nconnection: upgrade\r\nupgrade: websocket\r\n' +
  'sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';

test('runs the requests of a connection one after the other, each with its body', async () => {
  const gate = createGate();
  await using server = await startTestHttp({ more: [gate.endpoint] });
  using peer = connectRaw(server.port, post(0) + post(1, JSON.stringify({ text: 'x'.repeat(1000) })) + post(2));
  for (let at = 0; at < 3; at += 1) {
    while (gate.paths.length <= at) await yieldToEventLoop();
    assert.deepEqual([gate.paths.length, server.http.countInFlight()], [at + 1, 1]);
    gate.finishNext();
    await peer.readUntil(`{"id":"${at}"}`);
  }
  // The connection stays open.
  peer.socket.write(post(3));
  while (gate.paths.length < 4) await yieldToEventLoop();
  gate.finishNext();
  await peer.readUntil('{"id":"3"}');
});

test('runs requests of other connections between those of one', async () => {
  const gate = createGate();
  await using server = await startTestHttp({ more: [gate.endpoint] });
  using many = connectRaw(server.port, post('a') + post('b'));
  using one = connectRaw(server.port, post('c'));
  while (gate.paths.length < 2) await yieldToEventLoop();
  assert.deepEqual(gate.paths.toSorted(), ['a', 'c']);
  void [many, one];
  gate.finishNext();
  gate.finishNext();
});

for (const [name, rest] of [
  ['more requests than may wait', post('x').repeat(PIPELINED_REQUESTS_MAX + 1)],
  ['thousands of requests in one piece', 'GET / HTTP/1.1\r\n\r\n'.repeat(3000)],
  ['more bytes than may wait', post('x', 'x'.repeat(PIPELINED_BYTES_MAX))],
  ['a body of unknown length', 'POST /v1/gate/x HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n'],
  ['a websocket handshake', HANDSHAKE],
] as const)
  test(`closes a connection with ${name} behind a running request, and cancels that`, async () => {
    const gate = createGate();
    await using server = await startTestHttp({ more: [gate.endpoint], sockets: [UNUSED_SOCKET] });
    using peer = connectRaw(server.port, post('first') + rest);
    assert.equal(await peer.readToEnd(), '');
    while (gate.signals.length === 0) await yieldToEventLoop();
    if (!gate.signals[0]?.aborted) await once(gate.signals[0] ?? assert.fail(), 'abort');
    while (server.http.countInFlight() > 0) await yieldToEventLoop();
    assert.deepEqual(gate.paths, ['first']);
  });

const UNUSED_SOCKET = {
  operation: 'realtime.connect',
  path: '/api-ws/v1/inference',
  family: 'native',
  regions: ['cn-beijing'],
  open: () => assert.fail('no websocket opens'),
} as const;

test('accepts as many requests as may wait', async () => {
  const gate = createGate();
  await using server = await startTestHttp({ more: [gate.endpoint] });
  using peer = connectRaw(server.port, post(0) + 'GET /health HTTP/1.1\r\n\r\n'.repeat(PIPELINED_REQUESTS_MAX) + '');
  while (gate.paths.length === 0) await yieldToEventLoop();
  gate.finishNext();
  while (server.logLines.length < PIPELINED_REQUESTS_MAX + 1) await yieldToEventLoop();
  peer.socket.end();
  assert.equal((await peer.readToEnd()).split('HTTP/1.1 200').length, PIPELINED_REQUESTS_MAX + 2);
});

test('cancels the running request and forgets the waiting ones when the client disconnects', async () => {
  const gate = createGate();
  await using server = await startTestHttp({ more: [gate.endpoint] });
  using peer = connectRaw(server.port, post('first') + post('second'));
  while (gate.signals.length === 0) await yieldToEventLoop();
  peer.socket.destroy();
  await once(gate.signals[0] ?? assert.fail(), 'abort');
  while (server.http.countInFlight() > 0) await yieldToEventLoop();
  assert.deepEqual(gate.paths, ['first']);
});

test('reads a large body of a request that has none before it', async () => {
  const gate = createGate();
  await using server = await startTestHttp({ more: [gate.endpoint] });
  using peer = connectRaw(server.port, post(0, `"${'x'.repeat(4_000_000)}"`));
  while (gate.paths.length === 0) await yieldToEventLoop();
  gate.finishNext();
  await peer.readUntil('{"id":"0"}');
});

test('serves a large body that follows a download whose source has not ended yet', async () => {
  const gate = createGate();
  const { promise: sourceEnd, resolve: endSource } = Promise.withResolvers<void>();
  const download: Endpoint = {
    operation: 'test.download',
    method: 'GET',
    path: '/compatible-mode/v1/download',
    family: 'compatible',
    regions: ['cn-beijing'],
    onDisconnect: 'cancel',
    handle: async () => ({
      type: 'bytes',
      sizeBytes: 5,
      etag: 'tag',
      headers: { 'content-type': 'text/plain' },
      open: async () =>
        Readable.from(
          (async function* () {
            yield Buffer.from('hello');
            await sourceEnd;
          })(),
        ),
    }),
  };
  await using server = await startTestHttp({ more: [download, gate.endpoint] });
  using peer = connectRaw(server.port, 'GET /v1/download HTTP/1.1\r\nauthorization: Bearer sk-good\r\n\r\n');
  await peer.readUntil('hello');
  peer.socket.write(post('next', `"${'x'.repeat(PIPELINED_BYTES_MAX)}"`));
  const closed = peer.readToEnd();
  for (let turn = 0; turn < 20; turn++) await yieldToEventLoop();
  endSource();
  while (gate.paths.length === 0 && !peer.socket.closed) await yieldToEventLoop();
  assert.deepEqual(gate.paths, ['next']);
  gate.finishNext();
  peer.socket.end();
  assert.match(await closed, /\{"id":"next"\}$/);
});
