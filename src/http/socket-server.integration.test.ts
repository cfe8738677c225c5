import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { test } from 'node:test';
import { WebSocket } from 'ws';
import type { ClientOptions } from 'ws';
import { LARGE_BODY_BYTES, SOCKET_MESSAGE_BYTES_MAX } from './limits.ts';
import type { SocketEndpoint, SocketPeer } from '../protocols/socket-endpoint.ts';
import { connectRaw, startTestHttp } from './__fixtures__/test-http.ts';
import type { TestHttp } from './__fixtures__/test-http.ts';

const PATH = '/api-ws/v1/inference';

/** Creates an endpoint that echoes messages and records its peers and events. */
function createEcho() {
  const peers: SocketPeer[] = [];
  const events: string[] = [];
  const ticks: (() => void)[] = [];
  const echo: SocketEndpoint = {
    operation: 'realtime.connect',
    path: PATH,
    family: 'native',
    regions: ['cn-beijing', 'ap-southeast-1'],
    open(peer, { owner, checkKey }) {
      peers.push(peer);
      const record = (event: string) => () => void events.push(event);
      return {
        onText: (message) =>
          message === 'key'
            ? void checkKey().then(record('good'), record('bad'))
            : peer.send(`${owner.workspace}: ${message}`),
        onBinary: (message) => peer.send(`${message.length} bytes`),
        onTick: record('tick'),
        drain: record('drain'),
        abort: (reason) => {
          peer.send(reason.message);
          peer.close(1001, 'end');
        },
        onDisconnect: record('gone'),
      };
    },
  };
  return { echo, peers, events, ticks };
}

const GOOD = { authorization: 'bearer sk-good' };

/** Opens a websocket and records its messages and handshake headers. */
function connect({ port }: Pick<TestHttp, 'port'>, path = PATH, options: ClientOptions = { headers: GOOD }) {
  const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, options);
  const messages: string[] = [];
  const headers: Record<string, unknown> = {};
  socket.on('upgrade', (response) => Object.assign(headers, response.headers));
  socket.on('message', (data: Buffer) => messages.push(data.toString('utf8')));
  socket.on('error', () => undefined);
  return { socket, messages, headers, opened: once(socket, 'open'), closed: once(socket, 'close') };
}

async function refused(server: TestHttp, path: string, headers: Record<string, string>, port = server.port) {
  const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, { headers });
  socket.on('error', () => undefined);
  const [, response] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage];
  let text = '';
  for await (const piece of response) text += String(piece);
  return { status: response.statusCode, headers: response.headers, body: JSON.parse(text) as Record<string, string> };
}

async function until(isThere: () => boolean): Promise<void> {
  while (!isThere()) await yieldToEventLoop();
}

test('opens a websocket with or without a trailing slash and with any case of the scheme, and sends the request id', async () => {
  const { echo } = createEcho();
  await using server = await startTestHttp({ sockets: [echo] });
  for (const [path, scheme] of [
    [PATH, 'Bearer'],
    [`${PATH}/`, 'bearer'],
    [`${PATH}/?x=1`, 'BEARER'],
  ]) {
    const peer = connect(server, path, {
      headers: { authorization: `${scheme} sk-good`, 'X-DashScope-WorkSpace': 'primary' },
    });
    await peer.opened;
    peer.socket.send('hello');
    peer.socket.send(Buffer.alloc(12_800));
    await until(() => peer.messages.length === 2);
    assert.deepEqual(peer.messages, ['primary: hello', '12800 bytes']);
    const line = server.logLines.find(({ requestId }) => requestId === peer.headers['x-request-id']);
    assert.deepEqual([line?.['operation'], line?.['status'], line?.['keyId']], ['realtime.connect', 101, 'key_1']);
    peer.socket.close();
    await peer.closed;
  }
  assert.deepEqual(
    server.measurements.map(({ operation, status }) => [operation, status]),
    Array(3).fill(['realtime.connect', 101]),
  );
  assert.equal(server.http.countInFlight(), 0);
});

test('rejects an unauthorized handshake over HTTP, in the native shape with the status of the error', async () => {
  const { echo, peers } = createEcho();
  await using server = await startTestHttp({
    sockets: [echo],
    listeners: [
      { host: '127.0.0.1', port: 0, region: 'cn-beijing' },
      { host: '127.0.0.1', port: 0, region: 'us-east-1' },
    ],
  });
  const cases: readonly (readonly [headers: Record<string, string>, status: number, code: string, port?: number])[] = [
    [{}, 401, 'InvalidApiKey'],
    [{ authorization: 'Bearer sk-nobody' }, 401, 'InvalidApiKey'],
    [{ authorization: 'Bearer sk-revoked' }, 401, 'InvalidApiKey'],
    [{ authorization: 'Bearer sk-singapore' }, 401, 'InvalidApiKey'],
    [{ ...GOOD, 'x-dashscope-workspace': 'other' }, 403, 'Workspace.AccessDenied'],
    [{ authorization: 'Bearer sk-virginia' }, 403, 'AccessDenied', server.ports[1] ?? 0],
  ];
  let last: string | undefined;
  for (const [headers, status, code, port] of cases) {
    const answer = await refused(server, PATH, headers, port);
    assert.deepEqual([answer.status, answer.body['code']], [status, code], JSON.stringify(headers));
    assert.equal(answer.body['request_id'], answer.headers['x-request-id']);
    assert.equal(answer.headers['connection'], 'close');
    assert.equal(answer.headers['www-authenticate'], status === 401 ? 'Bearer' : undefined);
    last = answer.body['request_id'];
  }
  assert.deepEqual(peers, []);
  // The log line is written when the connection is closed, which may be after the response was read.
  await until(() => server.logLines.some(({ requestId, status }) => requestId === last && status === 403));
});

test('answers a handshake for an unknown path with 404', async () => {
  const { echo } = createEcho();
  await using server = await startTestHttp({ sockets: [echo] });
  assert.equal((await refused(server, '/api-ws/v1/realtime', GOOD)).status, 404);
  assert.equal((await refused(server, `${PATH}/x`, GOOD)).status, 404);
});

test('answers a request that offers HTTP/2 as HTTP/1.1', async () => {
  const { echo } = createEcho();
  await using server = await startTestHttp({ sockets: [echo] });
  const offer = 'connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__\r\n';
  const body = '{"model":"svc-plus","messages":[{"role":"user","content":"Hi"}]}';
  const head = `host: x\r\nauthorization: Bearer sk-good\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n`;
  using peer = connectRaw(server.port, `POST /v1/chat/completions HTTP/1.1\r\n${head}${offer}\r\n${body}`);
  assert.match(await peer.readUntil('Hello'), /^HTTP\/1\.1 200 /);
});

test('rejects an invalid handshake with a message', async () => {
  const { echo } = createEcho();
  await using server = await startTestHttp({ sockets: [echo] });
  const ask = async (lines: string): Promise<string> => {
    const head = `GET ${PATH} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer sk-good\r\nconnection: Upgrade\r\nupgrade: websocket\r\n`;
    using peer = connectRaw(server.port, `${head}${lines}\r\n`);
    return await peer.readToEnd();
  };
  const key = 'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
  assert.match(await ask('sec-websocket-version: 13\r\n'), /^HTTP\/1\.1 400 [^]*Sec-WebSocket-Key must be/);
  assert.match(
    await ask(`${key}sec-websocket-version: 8\r\n`),
    /^HTTP\/1\.1 400 [^]*sec-websocket-version: 13[^]*must be 13/,
  );
});

test('ignores an offered subprotocol and compression', async () => {
  const { echo } = createEcho();
  await using server = await startTestHttp({ sockets: [echo] });
  const head = `GET ${PATH} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer sk-good\r\nconnection: Upgrade\r\nupgrade: websocket\r\n`;
  const more =
    'sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-protocol: ,,a b\r\n' +
    'sec-websocket-extensions: permessage-deflate\r\n';
  using peer = connectRaw(server.port, `${head}${more}\r\n`);
  const answer = await peer.readUntil('\r\n\r\n');
  assert.match(answer, /^HTTP\/1\.1 101 [^]*s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=/);
  assert.doesNotMatch(answer, /protocol:|extensions:/i);
});

test('accepts a fragmented message and answers a ping', async () => {
  const { echo } = createEcho();
  await using server = await startTestHttp({ sockets: [echo] });
  const peer = connect(server);
  await peer.opened;
  const pong = once(peer.socket, 'pong');
  peer.socket.send('half', { fin: false });
  peer.socket.ping('p');
  peer.socket.send(' and half', { fin: true });
  assert.equal(String((await pong)[0]), 'p');
  await until(() => peer.messages.length > 0);
  assert.deepEqual(peer.messages, ['primary: half and half']);
  peer.socket.close();
  await peer.closed;
});

const HANDSHAKE =
  `GET ${PATH} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer sk-good\r\nconnection: Upgrade\r\nupgrade: websocket\r\n` +
  'sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';

const GARBAGE: readonly (readonly [name: string, frame: readonly number[]])[] = [
  ['a frame without a mask', [0x81, 0x02, 0x68, 0x69]],
  ['reserved bits', [0xf1, 0x80, 1, 2, 3, 4]],
  ['an unknown kind of frame', [0x83, 0x80, 1, 2, 3, 4]],
  ['text that is no UTF-8', [0x81, 0x82, 0, 0, 0, 0, 0xc3, 0x28]],
  ['a message above the size limit', [0x82, 0xff, 0, 0, 0, 1, 0, 0, 0, 0, 1, 2, 3, 4]],
];

for (const [name, frame] of GARBAGE) {
  test(`${name} closes the connection and disconnects the session`, async () => {
    const { echo, events } = createEcho();
    await using server = await startTestHttp({ sockets: [echo], limits: { abortGraceMs: 300 } });
    using peer = connectRaw(server.port, HANDSHAKE);
    await peer.readUntil('\r\n\r\n');
    peer.socket.write(Uint8Array.from(frame));
    await until(() => events.includes('gone'));
    // The peer does not answer the closing handshake; the server does not wait for it.
    assert.equal(server.http.countSockets(), 1);
    await peer.readToEnd();
    await until(() => server.http.countSockets() === 0);
    assert.ok(server.logLines.some(({ message, fault }) => message === 'websocket' && fault !== undefined));
  });
}

test('waits for the rest of a frame until the client disconnects', async () => {
  const { echo, events } = createEcho();
  await using server = await startTestHttp({ sockets: [echo] });
  using peer = connectRaw(server.port, HANDSHAKE);
  await peer.readUntil('\r\n\r\n');
  peer.socket.write(Uint8Array.from([0x82, 0xfe, 0x10, 0x00, 1, 2]));
  await until(() => server.http.countSockets() === 1);
  peer.socket.destroy();
  await until(() => server.http.countSockets() === 0);
  assert.deepEqual(events, ['gone']);
});

test('cuts the connection of a client that does not read', async () => {
  const { echo, peers } = createEcho();
  await using server = await startTestHttp({ sockets: [echo], limits: { socketSendBytesMax: 100_000 } });
  using peer = connectRaw(server.port, HANDSHAKE);
  await peer.readUntil('\r\n\r\n');
  peer.socket.pause();
  const event = 'x'.repeat(50_000);
  while (server.http.countSockets() > 0) {
    peers[0]?.send(event);
    await yieldToEventLoop();
  }
  assert.equal(server.logLines.find(({ message }) => message === 'websocket')?.['fault'], 'the client does not read');
});

test('reads nothing from a paused peer and sends it pongs', async () => {
  const { echo, peers } = createEcho();
  const repeated: { ms: number; run: () => void; isEnded: boolean }[] = [];
  await using server = await startTestHttp({
    sockets: [echo],
    startInterval(ms, run) {
      const one = { ms, run, isEnded: false };
      repeated.push(one);
      return () => void (one.isEnded = true);
    },
  });
  const peer = connect(server);
  await peer.opened;
  peers[0]?.pauseReading();
  const pong = once(peer.socket, 'pong');
  peer.socket.send('later');
  const pongs = repeated.find(({ ms }) => ms === 5_000);
  pongs?.run();
  await pong;
  assert.deepEqual(peer.messages, []);
  peers[0]?.resumeReading();
  await until(() => peer.messages.length > 0);
  assert.equal(pongs?.isEnded, true);
  peer.socket.close();
  await peer.closed;
});

/** One large message of a workspace may arrive at a time, and two of all. */
const MESSAGE_LIMITS = {
  workspaceBodiesBytesMax: SOCKET_MESSAGE_BYTES_MAX,
  bodiesBytesMax: 2 * SOCKET_MESSAGE_BYTES_MAX,
};
const LARGE = Buffer.alloc(4 * LARGE_BODY_BYTES);
const LARGE_ECHO = `${LARGE.length} bytes`;

test('reads a large message when those before it have arrived, and others of other workspaces meanwhile', async () => {
  const { echo } = createEcho();
  await using server = await startTestHttp({ sockets: [echo], limits: MESSAGE_LIMITS });
  const [first, second, small] = [connect(server), connect(server), connect(server)];
  const other = connect(server, PATH, { headers: { authorization: 'Bearer sk-sub' } });
  await Promise.all([first.opened, second.opened, small.opened, other.opened]);
  first.socket.send(LARGE, { fin: false });
  first.socket.ping();
  await once(first.socket, 'pong');
  second.socket.send(LARGE);
  other.socket.send(LARGE);
  await until(() => other.messages.length > 0);
  assert.deepEqual(other.messages, [LARGE_ECHO]);
  // Pings do not count, nor do small messages.
  for (let count = 0; count < 2_000; count++) small.socket.ping(Buffer.alloc(125));
  small.socket.send('hello');
  await until(() => small.messages.length > 0);
  assert.deepEqual(second.messages, []);
  first.socket.send(Buffer.alloc(0), { fin: true });
  await until(() => first.messages.length > 0 && second.messages.length > 0);
  assert.deepEqual([first.messages, second.messages], [[LARGE_ECHO], [LARGE_ECHO]]);
  // Each message has released its memory.
  second.socket.send(LARGE);
  await until(() => second.messages.length === 2);
});

test('ends a session with the reason if its large message finds no memory, or takes too long', async () => {
  const { echo } = createEcho();
  await using full = await startTestHttp({ sockets: [echo], limits: { ...MESSAGE_LIMITS, bodiesWaitingMax: 0 } });
  const holder = connect(full);
  const refusedPeer = connect(full);
  await Promise.all([holder.opened, refusedPeer.opened]);
  holder.socket.send(LARGE, { fin: false });
  holder.socket.ping();
  await once(holder.socket, 'pong');
  refusedPeer.socket.send(LARGE, { fin: false });
  await refusedPeer.closed;
  assert.deepEqual(refusedPeer.messages, [
    'Too many large messages arrive at once. Send at most 64 KiB each, or try again later.',
  ]);
  // A client that disconnects within a message releases its memory.
  holder.socket.terminate();
  await until(() => full.http.countSockets() === 0);
  const next = connect(full);
  await next.opened;
  next.socket.send(LARGE);
  await until(() => next.messages.length > 0);
  assert.deepEqual(next.messages, [LARGE_ECHO]);

  await using impatient = await startTestHttp({ sockets: [echo], limits: { ...MESSAGE_LIMITS, requestReceiveMs: 30 } });
  const slow = connect(impatient);
  await slow.opened;
  slow.socket.send(LARGE, { fin: false });
  await slow.closed;
  assert.deepEqual(slow.messages, ['A message took too long to arrive.']);
});

test('ends a session whose message is longer than any endpoint accepts, before the rest of it is read', async () => {
  const { echo } = createEcho();
  await using server = await startTestHttp({ sockets: [echo] });
  const [longest, tooLong] = [connect(server), connect(server)];
  await Promise.all([longest.opened, tooLong.opened]);
  longest.socket.send(Buffer.alloc(SOCKET_MESSAGE_BYTES_MAX));
  await until(() => longest.messages.length > 0);
  assert.deepEqual(longest.messages, [`${SOCKET_MESSAGE_BYTES_MAX} bytes`]);
  tooLong.socket.send(Buffer.alloc(2 * SOCKET_MESSAGE_BYTES_MAX), { fin: false });
  await tooLong.closed;
  assert.deepEqual(tooLong.messages, ['A message may have at most 1048576 bytes.']);
});

test('does not limit the time in which the session itself reads no further', async () => {
  const { echo, peers } = createEcho();
  const checks: (() => void)[] = [];
  const limits = { ...MESSAGE_LIMITS, requestReceiveMs: 4_321 };
  await using server = await startTestHttp({
    sockets: [echo],
    limits,
    startInterval(ms, run) {
      if (ms === limits.requestReceiveMs) checks.push(run);
      return () => undefined;
    },
  });
  const peer = connect(server);
  await peer.opened;
  peer.socket.send(LARGE, { fin: false });
  await until(() => checks.length > 0);
  peers[0]?.pauseReading();
  checks[0]?.();
  peers[0]?.resumeReading();
  peer.socket.send(Buffer.alloc(0), { fin: true });
  await until(() => peer.messages.length > 0);
  assert.deepEqual(peer.messages, [LARGE_ECHO]);
});

test('ticks the sessions once a second while a session is open', async () => {
  const { echo, events } = createEcho();
  const repeated: { run: () => void; isEnded: boolean }[] = [];
  await using server = await startTestHttp({
    sockets: [echo],
    startInterval(_ms, run) {
      const one = { run, isEnded: false };
      repeated.push(one);
      return () => void (one.isEnded = true);
    },
  });
  assert.equal(repeated.length, 0);
  const peer = connect(server);
  await peer.opened;
  repeated[0]?.run();
  assert.deepEqual(events, ['tick']);
  peer.socket.close();
  await peer.closed;
  await until(() => repeated[0]?.isEnded === true);
});

test('lets a session check whether its key is still valid', async () => {
  const { echo, events } = createEcho();
  let isRevoked = false;
  await using server = await startTestHttp({
    sockets: [echo],
    authenticate: async () =>
      isRevoked
        ? { status: 'revoked' }
        : { status: 'valid', record: { id: 'key_1', region: 'cn-beijing', workspace: 'primary' } },
  });
  const peer = connect(server);
  await peer.opened;
  peer.socket.send('key');
  await until(() => events.length === 1);
  isRevoked = true;
  peer.socket.send('key');
  await until(() => events.length === 2);
  assert.deepEqual(events, ['good', 'bad']);
  peer.socket.close();
  await peer.closed;
});

test('limits the number of websockets, and half of them per key', async () => {
  const { echo } = createEcho();
  await using server = await startTestHttp({ sockets: [echo], limits: { socketsMax: 3 } });
  const opened = [connect(server), connect(server, PATH, { headers: { authorization: 'Bearer sk-sub' } })];
  for (const each of opened) await each.opened;
  const second = await refused(server, PATH, GOOD);
  assert.deepEqual([second.status, second.body['code']], [429, 'Throttling.RateQuota']);
  const third = connect(server, PATH, { headers: { authorization: 'Bearer sk-capitals' } });
  await third.opened;
  const fourth = await refused(server, PATH, GOOD);
  assert.deepEqual([fourth.status, fourth.body['code']], [503, 'ServiceUnavailable']);
  assert.match(fourth.headers['retry-after'] ?? '', /^\d+$/);
  assert.equal(server.http.countSockets(), 3);
  for (const { socket, closed } of [...opened, third]) {
    socket.close();
    await closed;
  }
  const again = connect(server);
  await again.opened;
  again.socket.close();
  await again.closed;
});

test('rejects handshakes during shutdown and aborts open sessions as their protocol prescribes', async () => {
  const { echo, events } = createEcho();
  const server = await startTestHttp({ sockets: [echo] });
  const peer = connect(server);
  await peer.opened;
  // The head of this request is incomplete, so its connection is not idle.
  using late = connectRaw(server.port, HANDSHAKE.slice(0, 60));
  while (server.http.countInFlight() > 0) await yieldToEventLoop();
  const closed = server.http.close({ graceMs: 300 });
  await until(() => events.includes('drain'));
  late.socket.write(HANDSHAKE.slice(60));
  assert.match(await late.readToEnd(), /^(?:HTTP\/1\.1 503 [^]*"code":"ServiceUnavailable"[^]*)?$/);
  assert.deepEqual(await peer.closed.then(([code]: number[]) => code), 1001);
  assert.deepEqual(peer.messages, ['The service is shutting down.']);
  await closed;
  assert.equal(server.http.countSockets(), 0);
});

test('stops although a peer does not answer the closing handshake', async () => {
  const { echo } = createEcho();
  const server = await startTestHttp({ sockets: [echo], limits: { abortGraceMs: 20 } });
  using peer = connectRaw(server.port, HANDSHAKE);
  await peer.readUntil('\r\n\r\n');
  await until(() => server.http.countSockets() === 1);
  peer.socket.pause();
  await server.http.close({ graceMs: 5 });
  assert.equal(server.http.countSockets(), 0);
});

test('stops although a session ignores its abort', async () => {
  const { echo } = createEcho();
  const unresponsive: SocketEndpoint = {
    ...echo,
    open: (peer, context) => ({ ...echo.open(peer, context), abort: () => undefined }),
  };
  const server = await startTestHttp({ sockets: [unresponsive], limits: { abortGraceMs: 20 } });
  const peer = connect(server);
  await peer.opened;
  await server.http.close({ graceMs: 5 });
  assert.equal(server.http.countSockets(), 0);
  await peer.closed;
});

test('completes the closing handshake with a paused peer', async () => {
  const { echo, peers } = createEcho();
  // A long grace time, because a slow machine may delay the peer's answer.
  await using server = await startTestHttp({ sockets: [echo], limits: { abortGraceMs: 60_000 } });
  const peer = connect(server);
  await peer.opened;
  peers[0]?.pauseReading();
  peers[0]?.close(1008, 'enough');
  assert.equal(await peer.closed.then(([code]: number[]) => code), 1008);
  await until(() => server.http.countSockets() === 0);
  // Without the peer's answer the code would be 1006.
  assert.equal(server.logLines.find(({ message }) => message === 'websocket')?.['code'], 1008);
});

test('closes the connection after the grace time when the peer does not answer the closing handshake', async () => {
  const { echo, peers } = createEcho();
  await using server = await startTestHttp({ sockets: [echo], limits: { abortGraceMs: 30 } });
  using peer = connectRaw(server.port, HANDSHAKE);
  await peer.readUntil('\r\n\r\n');
  peers[0]?.close(1000, 'idle');
  await until(() => server.http.countSockets() === 0);
  assert.equal(server.logLines.find(({ message }) => message === 'websocket')?.['code'], 1006);
});
