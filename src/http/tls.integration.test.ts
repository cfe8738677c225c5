import assert from 'node:assert/strict';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { connect } from 'node:tls';
import { WebSocket } from 'ws';
import type { GenerationEvent } from '../core/event.ts';
import {
  BLOCK_START_EVENT,
  connectRaw,
  createTextDelta,
  ECHO_SOCKET,
  END_EVENTS,
  START_EVENT,
  startTestHttp,
} from './__fixtures__/test-http.ts';
import { FIRST_TLS, SECOND_TLS, sendSecurely } from './__fixtures__/tls-files.ts';

const HEADERS = { authorization: 'Bearer sk-good', 'content-type': 'application/json' };

const createChat = (fields: object = {}) => ({
  method: 'POST',
  headers: HEADERS,
  body: JSON.stringify({ model: 'svc-plus', messages: [{ role: 'user', content: 'Hi' }], ...fields }),
});

const getSecureUrl = ({ port }: { readonly port: number }, path: string): string => `https://127.0.0.1:${port}${path}`;

const CHAT = '/v1/chat/completions';

test('serves requests, streams and operator endpoints over TLS', async () => {
  await using server = await startTestHttp({ tls: FIRST_TLS });
  const plain = await sendSecurely(getSecureUrl(server, CHAT), createChat());
  assert.deepEqual([plain.status, plain.certificateName], [200, 'first.parley.test']);
  const stream = await sendSecurely(getSecureUrl(server, CHAT), createChat({ stream: true }));
  assert.match(stream.text, /Hel[^]*lo[^]*\[DONE\]/);
  assert.equal((await sendSecurely(getSecureUrl(server, '/ready'))).status, 200);
});

test('answers pipelined requests over TLS, however many', async () => {
  await using server = await startTestHttp({ tls: FIRST_TLS });
  const socket = connect({ port: server.port, host: '127.0.0.1', ca: FIRST_TLS.cert });
  const request = 'GET /health HTTP/1.1\r\n';
  socket.write(`${`${request}\r\n`.repeat(200)}${request}connection: close\r\n\r\n`);
  assert.equal((await text(socket)).split('HTTP/1.1 200').length - 1, 201);
});

test('opens websockets over TLS', async () => {
  await using server = await startTestHttp({ tls: FIRST_TLS, sockets: [ECHO_SOCKET] });
  const socket = new WebSocket(`wss://127.0.0.1:${server.port}${ECHO_SOCKET.path}`, {
    headers: HEADERS,
    ca: FIRST_TLS.cert,
  });
  await once(socket, 'open');
  socket.send('hello');
  const [message] = (await once(socket, 'message')) as [Buffer];
  assert.equal(message.toString('utf8'), 'hello');
  socket.close();
  await once(socket, 'close');
});

test('closes connections without TLS, and those whose handshake ends early or never, without a log line', async () => {
  // The second text is the beginning of a handshake that never continues.
  await using server = await startTestHttp({ tls: FIRST_TLS, limits: { headersReceiveMs: 300 } });
  for (const text of ['GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n', '\u0016\u0003\u0001\u0000\u0001x', '']) {
    using connection = connectRaw(server.port, text);
    if (text === '') connection.socket.end();
    assert.doesNotMatch(await connection.readToEnd(), /HTTP/);
  }
  await assert.rejects(sendSecurely(getSecureUrl(server, '/health'), { ca: SECOND_TLS.cert }), /self-signed/);
  assert.equal((await sendSecurely(getSecureUrl(server, '/health'))).status, 200);
  assert.deepEqual(
    server.logLines.filter(({ operation }) => operation === 'unreadable'),
    [],
  );
});

test('uses a new certificate for new connections while a stream continues on its own', async () => {
  const replaced = Promise.withResolvers<void>();
  async function* generateBatches(): AsyncGenerator<readonly GenerationEvent[]> {
    yield [START_EVENT, BLOCK_START_EVENT, createTextDelta('Hel')];
    await replaced.promise;
    yield [createTextDelta('lo'), ...END_EVENTS];
  }
  await using server = await startTestHttp({
    tls: FIRST_TLS,
    generate: () => Promise.resolve({ batches: generateBatches(), ignored: [] }),
  });
  const started = Promise.withResolvers<void>();
  const onText = (text: string): void => void (text.includes('Hel') && started.resolve());
  const stream = sendSecurely(getSecureUrl(server, CHAT), { ...createChat({ stream: true }), onText });
  await started.promise;
  server.http.setTlsCredentials(SECOND_TLS);
  assert.equal((await sendSecurely(getSecureUrl(server, '/health'))).certificateName, 'second.parley.test');
  assert.throws(() => server.http.setTlsCredentials({ cert: FIRST_TLS.cert, key: SECOND_TLS.key }));
  assert.equal((await sendSecurely(getSecureUrl(server, '/health'))).certificateName, 'second.parley.test');
  replaced.resolve();
  const { text, certificateName } = await stream;
  assert.match(text, /lo[^]*\[DONE\]/);
  assert.equal(certificateName, 'first.parley.test');
});

test('closes connections of an address above its limit', async () => {
  await using server = await startTestHttp({ tls: FIRST_TLS, limits: { connectionsPerAddress: 1 } });
  using idle = connectRaw(server.port, '');
  await once(idle.socket, 'connect');
  using refused = connectRaw(server.port, '');
  assert.equal(await refused.readToEnd(), '');
});

test('counts the refusals of an address, and lets later requests wait', async () => {
  await using server = await startTestHttp({
    tls: FIRST_TLS,
    limits: { refusalsPerAddress: 1, refusalDelayMs: 60_000 },
    clock: { now: () => Date.now(), monotonic: () => 0 },
  });
  assert.equal((await sendSecurely(getSecureUrl(server, '/v1/models'))).status, 401);
  const waiting = sendSecurely(getSecureUrl(server, '/v1/models'));
  while (server.http.countInFlight() < 1) await yieldToEventLoop();
  assert.equal(server.logLines.filter(({ status }) => status === 401).length, 1);
  // The end of the service ends its wait.
  await Promise.all([server[Symbol.asyncDispose](), waiting]);
});
