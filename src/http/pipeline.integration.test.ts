import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Generate } from '../generation/generation.ts';
import type { Endpoint } from '../protocols/endpoint.ts';
import { PIPELINED_BYTES_MAX, PIPELINED_REQUESTS_MAX, PIPELINED_STARTS_PER_TURN } from './limits.ts';
import {
  BLOCK_START_EVENT,
  chatRequest,
  connectRaw,
  createTextDelta,
  ECHO_SOCKET,
  END_EVENTS,
  START_EVENT,
  startTestHttp,
} from './__fixtures__/test-http.ts';

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

const HEALTH = 'GET /health HTTP/1.1\r\n\r\n';

const LAST = 'GET /last HTTP/1.1\r\n\r\n';
const LAST_ANSWER = '/last';

const HANDSHAKE =
  'GET /api-ws/v1/inference HTTP/1.1\r\nconnection: upgrade\r\nupgrade: websocket\r\nauthorization: Bearer sk-good\r\n' +
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

/** Requests that may not wait behind a running one, and what the answer to the last of them contains. */
const EXCESSIVE: readonly (readonly [name: string, requests: string, end: string])[] = [
  ['more requests than may wait', HEALTH.repeat(100) + LAST, LAST_ANSWER],
  ['a thousand requests in one piece', 'GET / HTTP/1.1\r\n\r\n'.repeat(1000) + LAST, LAST_ANSWER],
  ['more bytes than may wait', post('large', `"${'x'.repeat(4 * PIPELINED_BYTES_MAX)}"`) + LAST, LAST_ANSWER],
  [
    'a body of unknown length',
    `POST /v1/gate/x HTTP/1.1\r\nauthorization: Bearer sk-good\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n${LAST}`,
    LAST_ANSWER,
  ],
  ['a websocket handshake', HANDSHAKE, 'HTTP/1.1 101 '],
];

for (const [name, requests, end] of EXCESSIVE)
  test(`serves ${name} behind a running request, after it`, async () => {
    const gate = createGate();
    await using server = await startTestHttp({ more: [gate.endpoint], sockets: [ECHO_SOCKET] });
    using peer = connectRaw(server.port, post('first') + requests);
    while (gate.paths.length === 0) await yieldToEventLoop();
    for (let turn = 0; turn < 20; turn++) await yieldToEventLoop();
    assert.deepEqual([await peer.readUntil(''), gate.paths, server.http.countInFlight()], ['', ['first'], 1]);
    gate.finishNext();
    const answer = peer.readUntil(end);
    let isAnswered = false;
    void answer.then(() => (isAnswered = true));
    while (!isAnswered) {
      gate.finishNext();
      await yieldToEventLoop();
    }
    const text = await answer;
    assert.match(text, /^HTTP\/1\.1 200 [^]*\{"id":"first"\}HTTP\/1\.1 /);
    assert.equal(text.split('HTTP/1.1 ').length - 1, 1 + requests.split(' HTTP/1.1').length - 1);
  });

/** Formats a request whose body is sent in chunks. */
const postInChunks = (id: string, body: string): string =>
  `POST /v1/gate/${id} HTTP/1.1\r\nauthorization: Bearer sk-good\r\ntransfer-encoding: chunked\r\n\r\n` +
  `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;

for (const pieceLength of [97, 8_192, 1_000_000])
  test(`answers pipelined requests in their order, in pieces of ${pieceLength} bytes`, async () => {
    const paths: string[] = [];
    const endpoint: Endpoint = {
      ...createGate().endpoint,
      handle: async ({ params, body }) => {
        paths.push(params['id'] ?? '');
        return { type: 'json', status: 200, body: { id: params['id'], text: body } };
      },
    };
    await using server = await startTestHttp({ more: [endpoint] });
    const ids = Array.from({ length: 200 }, (_, n) => String(n));
    const createText = (id: string): string => id.repeat(Number(id) * 3);
    // Bodies of all sizes: the connection is paused at any place.
    const requests = ids.map((id) => (Number(id) % 5 === 0 ? postInChunks : post)(id, `"${createText(id)}"`)).join('');
    using peer = connectRaw(server.port, '');
    for (let at = 0; at < requests.length; at += pieceLength) {
      peer.socket.write(requests.slice(at, at + pieceLength));
      await yieldToEventLoop();
    }
    peer.socket.write(LAST);
    const text = await peer.readUntil(LAST_ANSWER);
    assert.deepEqual(paths, ids);
    assert.deepEqual(
      [...text.matchAll(/\{"id":"(\d+)","text":"(\d*)"\}/g)].map(([, id, body]) => [id, body]),
      ids.map((id) => [id, createText(id)]),
    );
  });

test('does not read what may not wait, and goes on when the earlier requests are answered', async () => {
  const gate = createGate();
  await using server = await startTestHttp({ more: [gate.endpoint] });
  using peer = connectRaw(server.port, post('first'));
  // More than the buffers of the system.
  peer.socket.write(HEALTH.repeat(1_000_000));
  while (gate.paths.length === 0) await yieldToEventLoop();
  for (let turn = 0; turn < 1000; turn++) await yieldToEventLoop();
  assert.ok(peer.socket.writableLength > 0);
  const before = server.logLines.length;
  gate.finishNext();
  while (server.logLines.length < before + 1000) await yieldToEventLoop();
});

const BIG = 'x'.repeat(256 * 1024);

/** Creates an endpoint that sends the bytes of a source. */
const createDownload = (sizeBytes: number, readSource: () => AsyncGenerator<Buffer>): Endpoint => ({
  operation: 'test.download',
  method: 'GET',
  path: '/compatible-mode/v1/download',
  family: 'compatible',
  regions: ['cn-beijing'],
  onDisconnect: 'cancel',
  handle: async () => ({
    type: 'bytes',
    sizeBytes,
    etag: 'tag',
    headers: { 'content-type': 'text/plain' },
    open: async () => Readable.from(readSource()),
  }),
});

/** Endpoint and generation that send `count` times 256 KiB when `go` is fulfilled. */
function createBigResponses(go: Promise<void>, count: number) {
  const download = createDownload(BIG.length * count, async function* () {
    await go;
    for (let at = 0; at < count; at++) yield Buffer.from(BIG);
  });
  const generate: Generate = async () => ({
    batches: (async function* () {
      yield [START_EVENT, BLOCK_START_EVENT];
      await go;
      for (let at = 0; at < count; at++) yield [createTextDelta(BIG)];
      yield END_EVENTS;
    })(),
    ignored: [],
  });
  return { download, generate };
}

for (const [name, request] of [
  ['stream', chatRequest()],
  ['download', 'GET /v1/download HTTP/1.1\r\nauthorization: Bearer sk-good\r\n\r\n'],
] as const) {
  test(`sends a large ${name} to a slow reader while requests behind it are not read`, async () => {
    const { promise: go, resolve: start } = Promise.withResolvers<void>();
    const { download, generate } = createBigResponses(go, 16);
    await using server = await startTestHttp({ more: [download], generate });
    using peer = connectRaw(server.port, request + HEALTH.repeat(100) + LAST);
    peer.socket.pause();
    while (server.http.countInFlight() === 0) await yieldToEventLoop();
    start();
    for (let turn = 0; turn < 100; turn++) await yieldToEventLoop();
    peer.socket.resume();
    const text = await peer.readUntil(LAST_ANSWER);
    // Long texts are sent in several chunks, each with its size before it.
    const content = text.replaceAll(/\r\n[\da-f]+\r\n/g, '');
    assert.equal(content.split(BIG).length - 1, 16);
    assert.equal(text.split('HTTP/1.1 200').length - 1, 101);
  });

  test(`cuts a client that does not read a ${name} while requests behind it are not read`, async () => {
    // More than the buffers of the system.
    const { download, generate } = createBigResponses(Promise.resolve(), 256);
    await using server = await startTestHttp({ more: [download], generate, limits: { readerStallMs: 20 } });
    using peer = connectRaw(server.port, request + HEALTH.repeat(100) + LAST);
    peer.socket.pause();
    while (server.logLines.length === 0) await yieldToEventLoop();
    assert.deepEqual([server.logLines.length, server.logLines[0]?.['kind']], [1, 'cancelled']);
  });
}

test('cancels the running request when the client leaves while others are not read', async () => {
  const gate = createGate();
  await using server = await startTestHttp({ more: [gate.endpoint] });
  for (const leave of ['destroy', 'end'] as const) {
    const paths = gate.paths.length;
    using peer = connectRaw(server.port, post('first') + post('second').repeat(100));
    while (gate.paths.length === paths) await yieldToEventLoop();
    peer.socket[leave]();
    const signal = gate.signals.at(-1) ?? assert.fail();
    if (!signal.aborted) await once(signal, 'abort');
    while (server.http.countInFlight() > 0) await yieldToEventLoop();
  }
  assert.deepEqual(gate.paths, ['first', 'first']);
});

test('starts a few requests that waited in a turn of the event loop, and others before them', async () => {
  const gate = createGate();
  await using server = await startTestHttp({ more: [gate.endpoint] });
  const connections = PIPELINED_STARTS_PER_TURN * 4;
  const peers = Array.from({ length: connections }, () => connectRaw(server.port, post('first') + post('next')));
  while (gate.paths.length < connections) await yieldToEventLoop();
  for (const _ of peers) gate.finishNext();
  const started: number[] = [];
  while (gate.paths.length < 2 * connections) {
    started.push(gate.paths.length);
    await yieldToEventLoop();
  }
  const perTurn = started.map((count, turn) => count - (started[turn - 1] ?? connections));
  assert.ok(Math.max(...perTurn) <= PIPELINED_STARTS_PER_TURN, perTurn.join());
  for (const _ of peers) gate.finishNext();
  for (const peer of peers) peer.socket.destroy();
});

test('counts a connection once, however often it was paused', async () => {
  await using server = await startTestHttp({ limits: { connectionsPerAddress: 2 } });
  using peer = connectRaw(server.port, HEALTH.repeat(200) + LAST);
  await peer.readUntil(LAST_ANSWER);
  using other = connectRaw(server.port, LAST);
  await other.readUntil(LAST_ANSWER);
  using third = connectRaw(server.port, LAST);
  assert.match(await third.readToEnd(), /^HTTP\/1\.1 429 /);
});

test('answers the requests before input that is not HTTP, then closes the connection', async () => {
  await using server = await startTestHttp();
  using peer = connectRaw(server.port, HEALTH.repeat(50) + 'no HTTP\r\n');
  const text = await peer.readToEnd();
  assert.equal(text.split('HTTP/1.1 200').length - 1, 50);
});

test('drops requests that are not read when the service stops', async () => {
  const gate = createGate();
  await using server = await startTestHttp({ more: [gate.endpoint], limits: { abortGraceMs: 5 } });
  using peer = connectRaw(server.port, post('first') + post('second').repeat(100));
  while (gate.paths.length === 0) await yieldToEventLoop();
  await server.http.close({ graceMs: 5 });
  assert.match(await peer.readToEnd(), /^HTTP\/1\.1 503 /);
  assert.deepEqual(gate.paths, ['first']);
});

test('accepts as many requests as may wait', async () => {
  const gate = createGate();
  await using server = await startTestHttp({ more: [gate.endpoint] });
  using peer = connectRaw(server.port, post(0) + HEALTH.repeat(PIPELINED_REQUESTS_MAX));
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
  const download = createDownload(5, async function* () {
    yield Buffer.from('hello');
    await sourceEnd;
  });
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
