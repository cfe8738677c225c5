import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';
import { test } from 'node:test';
import { WebSocket } from 'ws';
import type { ClientOptions } from 'ws';
import type { SocketEndpoint, SocketPeer } from '../protocols/socket-endpoint.ts';
import { connectRaw, startHttp } from './__fixtures__/test-http.ts';
import type { TestHttp } from './__fixtures__/test-http.ts';

const PATH = '/api-ws/v1/inference';

/** Says what it hears, and remembers its peers. */
function createEcho() {
  const peers: SocketPeer[] = [];
  const happened: string[] = [];
  const ticks: (() => void)[] = [];
  const echo: SocketEndpoint = {
    operation: 'realtime.connect',
    path: PATH,
    family: 'native',
    regions: ['cn-beijing', 'ap-southeast-1'],
    open(peer, { owner, checkKey }) {
      peers.push(peer);
      const note = (what: string) => () => void happened.push(what);
      return {
        text: (message) =>
          message === 'key'
            ? void checkKey().then(note('good'), note('bad'))
            : peer.send(`${owner.workspace}: ${message}`),
        binary: (message) => peer.send(`${message.length} bytes`),
        tick: note('tick'),
        drain: note('drain'),
        end: (reason) => {
          peer.send(reason.message);
          peer.close(1001, 'end');
        },
        gone: note('gone'),
      };
    },
  };
  return { echo, peers, happened, ticks };
}

const GOOD = { authorization: 'bearer sk-good' };

/** Opens a websocket, or says what was answered instead. */
function connect({ port }: Pick<TestHttp, 'port'>, path = PATH, options: ClientOptions = { headers: GOOD }) {
  const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, options);
  const said: string[] = [];
  const headers: Record<string, unknown> = {};
  socket.on('upgrade', (response) => Object.assign(headers, response.headers));
  socket.on('message', (data: Buffer) => said.push(data.toString('utf8')));
  socket.on('error', () => undefined);
  return { socket, said, headers, opened: once(socket, 'open'), closed: once(socket, 'close') };
}

async function refused(front: TestHttp, path: string, headers: Record<string, string>, port = front.port) {
  const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, { headers });
  socket.on('error', () => undefined);
  const [, response] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage];
  let text = '';
  for await (const piece of response) text += String(piece);
  return { status: response.statusCode, headers: response.headers, body: JSON.parse(text) as Record<string, string> };
}

async function until(isThere: () => boolean): Promise<void> {
  while (!isThere()) await turn();
}

test('opens with and without a trailing slash, with any case of the scheme, and tells its request id', async () => {
  const { echo } = createEcho();
  await using front = await startHttp({ sockets: [echo] });
  for (const [path, scheme] of [
    [PATH, 'Bearer'],
    [`${PATH}/`, 'bearer'],
    [`${PATH}/?x=1`, 'BEARER'],
  ]) {
    const peer = connect(front, path, {
      headers: { authorization: `${scheme} sk-good`, 'X-DashScope-WorkSpace': 'primary' },
    });
    await peer.opened;
    peer.socket.send('hello');
    peer.socket.send(Buffer.alloc(12_800));
    await until(() => peer.said.length === 2);
    assert.deepEqual(peer.said, ['primary: hello', '12800 bytes']);
    const line = front.lines.find(({ requestId }) => requestId === peer.headers['x-request-id']);
    assert.deepEqual([line?.['operation'], line?.['status'], line?.['keyId']], ['realtime.connect', 101, 'key_1']);
    peer.socket.close();
    await peer.closed;
  }
  assert.deepEqual(
    front.measures.map(({ operation, status }) => [operation, status]),
    Array(3).fill(['realtime.connect', 101]),
  );
  assert.equal(front.http.inFlight(), 0);
});

test('who may not have it is answered by HTTP, in the native shape and with the real status', async () => {
  const { echo, peers } = createEcho();
  await using front = await startHttp({
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
    [{ authorization: 'Bearer sk-virginia' }, 403, 'AccessDenied', front.ports[1] ?? 0],
  ];
  let last: string | undefined;
  for (const [headers, status, code, port] of cases) {
    const answer = await refused(front, PATH, headers, port);
    assert.deepEqual([answer.status, answer.body['code']], [status, code], JSON.stringify(headers));
    assert.equal(answer.body['request_id'], answer.headers['x-request-id']);
    assert.equal(answer.headers['connection'], 'close');
    last = answer.body['request_id'];
  }
  assert.deepEqual(peers, []);
  // Its line is written when the connection is closed, which may be after the answer was read.
  await until(() => front.lines.some(({ requestId, status }) => requestId === last && status === 403));
});

test('another path is not there, whoever asks for a websocket', async () => {
  const { echo } = createEcho();
  await using front = await startHttp({ sockets: [echo] });
  assert.equal((await refused(front, '/api-ws/v1/realtime', GOOD)).status, 404);
  assert.equal((await refused(front, `${PATH}/x`, GOOD)).status, 404);
});

test('a request that offers another protocol is answered in the one it came in', async () => {
  const { echo } = createEcho();
  await using front = await startHttp({ sockets: [echo] });
  const offer = 'connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__\r\n';
  const body = '{"model":"svc-plus","messages":[{"role":"user","content":"Hi"}]}';
  const head = `host: x\r\nauthorization: Bearer sk-good\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n`;
  using peer = connectRaw(front.port, `POST /v1/chat/completions HTTP/1.1\r\n${head}${offer}\r\n${body}`);
  assert.match(await peer.until('Hello'), /^HTTP\/1\.1 200 /);
});

test('a handshake that is none is refused in words', async () => {
  const { echo } = createEcho();
  await using front = await startHttp({ sockets: [echo] });
  const ask = async (lines: string): Promise<string> => {
    const head = `GET ${PATH} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer sk-good\r\nconnection: Upgrade\r\nupgrade: websocket\r\n`;
    using peer = connectRaw(front.port, `${head}${lines}\r\n`);
    return await peer.rest();
  };
  const key = 'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
  assert.match(await ask('sec-websocket-version: 13\r\n'), /^HTTP\/1\.1 400 [^]*Sec-WebSocket-Key must be/);
  assert.match(
    await ask(`${key}sec-websocket-version: 8\r\n`),
    /^HTTP\/1\.1 400 [^]*sec-websocket-version: 13[^]*must be 13/,
  );
});

test('an offered subprotocol or compression is passed over', async () => {
  const { echo } = createEcho();
  await using front = await startHttp({ sockets: [echo] });
  const head = `GET ${PATH} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer sk-good\r\nconnection: Upgrade\r\nupgrade: websocket\r\n`;
  const more =
    'sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-protocol: ,,a b\r\n' +
    'sec-websocket-extensions: permessage-deflate\r\n';
  using peer = connectRaw(front.port, `${head}${more}\r\n`);
  const answer = await peer.until('\r\n\r\n');
  assert.match(answer, /^HTTP\/1\.1 101 [^]*s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=/);
  assert.doesNotMatch(answer, /protocol:|extensions:/i);
});

test('a message may come in pieces, and a ping is answered', async () => {
  const { echo } = createEcho();
  await using front = await startHttp({ sockets: [echo] });
  const peer = connect(front);
  await peer.opened;
  const pong = once(peer.socket, 'pong');
  peer.socket.send('half', { fin: false });
  peer.socket.ping('p');
  peer.socket.send(' and half', { fin: true });
  assert.equal(String((await pong)[0]), 'p');
  await until(() => peer.said.length > 0);
  assert.deepEqual(peer.said, ['primary: half and half']);
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
  ['a message beyond all measure', [0x82, 0xff, 0, 0, 0, 1, 0, 0, 0, 0, 1, 2, 3, 4]],
];

for (const [name, frame] of GARBAGE) {
  test(`${name} ends the connection, and nobody goes on working for it`, async () => {
    const { echo, happened } = createEcho();
    await using front = await startHttp({ sockets: [echo], limits: { abortGraceMs: 300 } });
    using peer = connectRaw(front.port, HANDSHAKE);
    await peer.until('\r\n\r\n');
    peer.socket.write(Uint8Array.from(frame));
    await until(() => happened.includes('gone'));
    // It does not answer our goodbye, and that is not waited for.
    assert.equal(front.http.sockets(), 1);
    await peer.rest();
    await until(() => front.http.sockets() === 0);
    assert.ok(front.lines.some(({ message, fault }) => message === 'websocket' && fault !== undefined));
  });
}

test('half a frame waits, and goes with its sender', async () => {
  const { echo, happened } = createEcho();
  await using front = await startHttp({ sockets: [echo] });
  using peer = connectRaw(front.port, HANDSHAKE);
  await peer.until('\r\n\r\n');
  peer.socket.write(Uint8Array.from([0x82, 0xfe, 0x10, 0x00, 1, 2]));
  await until(() => front.http.sockets() === 1);
  peer.socket.destroy();
  await until(() => front.http.sockets() === 0);
  assert.deepEqual(happened, ['gone']);
});

test('who does not read is cut off', async () => {
  const { echo, peers } = createEcho();
  await using front = await startHttp({ sockets: [echo], limits: { socketSendBytesMax: 100_000 } });
  using peer = connectRaw(front.port, HANDSHAKE);
  await peer.until('\r\n\r\n');
  peer.socket.pause();
  const event = 'x'.repeat(50_000);
  while (front.http.sockets() > 0) {
    peers[0]?.send(event);
    await turn();
  }
  assert.equal(front.lines.find(({ message }) => message === 'websocket')?.['fault'], 'it does not read');
});

test('of one that is held nothing is read, and it hears that we are there', async () => {
  const { echo, peers } = createEcho();
  const repeated: { ms: number; run: () => void; isEnded: boolean }[] = [];
  await using front = await startHttp({
    sockets: [echo],
    every(ms, run) {
      const one = { ms, run, isEnded: false };
      repeated.push(one);
      return () => void (one.isEnded = true);
    },
  });
  const peer = connect(front);
  await peer.opened;
  peers[0]?.hold();
  const pong = once(peer.socket, 'pong');
  peer.socket.send('later');
  const pongs = repeated.find(({ ms }) => ms === 5_000);
  pongs?.run();
  await pong;
  assert.deepEqual(peer.said, []);
  peers[0]?.release();
  await until(() => peer.said.length > 0);
  assert.equal(pongs?.isEnded, true);
  peer.socket.close();
  await peer.closed;
});

test('sessions hear the clock once a second as long as there are any', async () => {
  const { echo, happened } = createEcho();
  const repeated: { run: () => void; isEnded: boolean }[] = [];
  await using front = await startHttp({
    sockets: [echo],
    every(_ms, run) {
      const one = { run, isEnded: false };
      repeated.push(one);
      return () => void (one.isEnded = true);
    },
  });
  assert.equal(repeated.length, 0);
  const peer = connect(front);
  await peer.opened;
  repeated[0]?.run();
  assert.deepEqual(happened, ['tick']);
  peer.socket.close();
  await peer.closed;
  await until(() => repeated[0]?.isEnded === true);
});

test('a session may ask whether its key is still good', async () => {
  const { echo, happened } = createEcho();
  let isRevoked = false;
  await using front = await startHttp({
    sockets: [echo],
    authenticate: async () =>
      isRevoked
        ? { status: 'revoked' }
        : { status: 'valid', record: { id: 'key_1', region: 'cn-beijing', workspace: 'primary' } },
  });
  const peer = connect(front);
  await peer.opened;
  peer.socket.send('key');
  await until(() => happened.length === 1);
  isRevoked = true;
  peer.socket.send('key');
  await until(() => happened.length === 2);
  assert.deepEqual(happened, ['good', 'bad']);
  peer.socket.close();
  await peer.closed;
});

test('there are so many websockets, and half as many of one key', async () => {
  const { echo } = createEcho();
  await using front = await startHttp({ sockets: [echo], limits: { socketsMax: 3 } });
  const opened = [connect(front), connect(front, PATH, { headers: { authorization: 'Bearer sk-sub' } })];
  for (const each of opened) await each.opened;
  const second = await refused(front, PATH, GOOD);
  assert.deepEqual([second.status, second.body['code']], [429, 'Throttling.RateQuota']);
  const third = connect(front, PATH, { headers: { authorization: 'Bearer sk-capitals' } });
  await third.opened;
  const fourth = await refused(front, PATH, GOOD);
  assert.deepEqual([fourth.status, fourth.body['code']], [503, 'ServiceUnavailable']);
  assert.match(fourth.headers['retry-after'] ?? '', /^\d+$/);
  assert.equal(front.http.sockets(), 3);
  for (const { socket, closed } of [...opened, third]) {
    socket.close();
    await closed;
  }
  const again = connect(front);
  await again.opened;
  again.socket.close();
  await again.closed;
});

test('while the service stops nobody gets another one, and those there are end in their protocol’s way', async () => {
  const { echo, happened } = createEcho();
  const front = await startHttp({ sockets: [echo] });
  const peer = connect(front);
  await peer.opened;
  // Its head is not whole yet: it is not idle.
  using late = connectRaw(front.port, HANDSHAKE.slice(0, 60));
  while (front.http.inFlight() > 0) await turn();
  const closed = front.http.close({ graceMs: 300 });
  await until(() => happened.includes('drain'));
  late.socket.write(HANDSHAKE.slice(60));
  assert.match(await late.rest(), /^(?:HTTP\/1\.1 503 [^]*"code":"ServiceUnavailable"[^]*)?$/);
  assert.deepEqual(await peer.closed.then(([code]: number[]) => code), 1001);
  assert.deepEqual(peer.said, ['The service is shutting down.']);
  await closed;
  assert.equal(front.http.sockets(), 0);
});

test('a peer that does not say goodbye does not keep the service from stopping', async () => {
  const { echo } = createEcho();
  const front = await startHttp({ sockets: [echo], limits: { abortGraceMs: 20 } });
  using peer = connectRaw(front.port, HANDSHAKE);
  await peer.until('\r\n\r\n');
  await until(() => front.http.sockets() === 1);
  peer.socket.pause();
  await front.http.close({ graceMs: 5 });
  assert.equal(front.http.sockets(), 0);
});

test('a session that does not end does not keep the service from stopping', async () => {
  const { echo } = createEcho();
  const deaf: SocketEndpoint = {
    ...echo,
    open: (peer, context) => ({ ...echo.open(peer, context), end: () => undefined }),
  };
  const front = await startHttp({ sockets: [deaf], limits: { abortGraceMs: 20 } });
  const peer = connect(front);
  await peer.opened;
  await front.http.close({ graceMs: 5 });
  assert.equal(front.http.sockets(), 0);
  await peer.closed;
});

test('one that was held hears our goodbye, and answers it', async () => {
  const { echo, peers } = createEcho();
  // Its answer is waited for however long the machine stalls.
  await using front = await startHttp({ sockets: [echo], limits: { abortGraceMs: 60_000 } });
  const peer = connect(front);
  await peer.opened;
  peers[0]?.hold();
  peers[0]?.close(1008, 'enough');
  assert.equal(await peer.closed.then(([code]: number[]) => code), 1008);
  await until(() => front.http.sockets() === 0);
  // Without its answer it would be 1006.
  assert.equal(front.lines.find(({ message }) => message === 'websocket')?.['code'], 1008);
});

test('a goodbye that nobody answers is not waited for long', async () => {
  const { echo, peers } = createEcho();
  await using front = await startHttp({ sockets: [echo], limits: { abortGraceMs: 30 } });
  using peer = connectRaw(front.port, HANDSHAKE);
  await peer.until('\r\n\r\n');
  peers[0]?.close(1000, 'idle');
  await until(() => front.http.sockets() === 0);
  assert.equal(front.lines.find(({ message }) => message === 'websocket')?.['code'], 1006);
});
