import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setInterval } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { QUEUE_LENGTH_MAX } from '../../src/core/limits.ts';
import { SOCKET_MESSAGE_BYTES_MAX } from '../../src/http/limits.ts';
import { type Attack, ATTACKER_ADDRESS, type AttackTarget, describeAttacks } from './harness.ts';

// An attacker connects from one address.

const STATUS_LINE = 'HTTP/1.1 200 OK';

/** A connection of the attacker, and what the service sent on it. */
interface Connection {
  readonly socket: Socket;
  /** The end of what was received. Empty if nothing is read. */
  text(): string;
  /** Resolves when so many answers with status 200 were received, or the connection is closed. */
  untilAnswered(count: number): Promise<void>;
  /** Resolves when the connection is closed. */
  readonly closed: Promise<unknown>;
}

/** Opens a connection. @param reads Whether the attacker reads what it receives. Default: true. */
async function open({ port, signal }: AttackTarget, { reads = true } = {}): Promise<Connection> {
  const socket = connect({ port, host: '127.0.0.1', localAddress: ATTACKER_ADDRESS });
  signal.addEventListener('abort', () => socket.destroy());
  // The service may end the connection: what is sent afterwards is lost.
  socket.on('error', () => undefined);
  const closed = new Promise((resolve) => void socket.once('close', resolve));
  let text = '';
  let answers = 0;
  let onAnswer = (): void => undefined;
  if (reads) {
    socket.setEncoding('utf8').on('data', (piece: string) => {
      const unseen = text.slice(1 - STATUS_LINE.length) + piece;
      answers += unseen.split(STATUS_LINE).length - 1;
      text = (text + piece).slice(-1000);
      onAnswer();
    });
  }
  const untilAnswered = (count: number): Promise<void> =>
    Promise.race([
      new Promise<void>((resolve) => {
        onAnswer = () => {
          if (answers >= count) resolve();
        };
        onAnswer();
      }),
      closed.then(() => undefined),
    ]);
  await Promise.race([new Promise((resolve) => void socket.once('connect', resolve)), closed]);
  return { socket, text: () => text, untilAnswered, closed };
}

/** Opens connections in groups: the system drops some of more that wait for the service to accept them. */
async function openMany(
  target: AttackTarget,
  count: number,
  options?: { readonly reads: boolean },
): Promise<Connection[]> {
  const connections: Connection[] = [];
  while (connections.length < count)
    connections.push(...(await Promise.all(Array.from({ length: 50 }, () => open(target, options)))));
  return connections;
}

/** Sends bytes, and returns when the system has taken them or the connection is closed. */
const send = async ({ socket, closed }: Connection, data: string | Uint8Array): Promise<void> => {
  await Promise.race([new Promise<void>((resolve) => void socket.write(data, () => resolve())), closed]);
};

/** Creates a chat request whose answer has 1,500 tokens of 1,000 bytes. */
function createLongChat(key: string, fields: object): string {
  const script = `script:${JSON.stringify([{ repeat: 'x'.repeat(1000), times: 1500, perTick: 10 }])}`;
  return createChat(key, { ...fields, messages: [{ role: 'user', content: script }] });
}

function createChat(key: string, fields: object): string {
  const body = JSON.stringify({ model: 'svc-plus', ...fields });
  const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${key}\r\n`;
  return `${head}content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

const HEALTH = 'GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n';

const createUnknownKeyRequest = (number: number): string =>
  `GET /v1/models HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer sk-unknown-${number}\r\n\r\n`;

/** Checks that the service still answers the attacker on a new connection. */
async function assertAnswersAttacker(target: AttackTarget): Promise<void> {
  await assertAnswers(target, 'GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n');
}

/** Checks that the service still generates for the attacker: no earlier request of it runs. */
async function assertGeneratesForAttacker(target: AttackTarget): Promise<void> {
  const chat = createChat(target.key, { messages: [{ role: 'user', content: 'script:["a"]' }] });
  await assertAnswers(target, chat.replace('\r\n', '\r\nconnection: close\r\n'));
}

async function assertAnswers(target: AttackTarget, request: string): Promise<void> {
  const connection = await open(target);
  await send(connection, request);
  await connection.closed;
  assert.match(connection.text(), /^HTTP\/1\.1 200 /);
}

const PIPELINING: readonly Attack[] = [
  {
    name: '300 chat requests on each of 50 connections, which are never read',
    async run(target) {
      const request = createLongChat(target.key, { stream: false });
      const connections = await openMany(target, 50, { reads: false });
      await Promise.all(connections.map((connection) => send(connection, request.repeat(30))));
      // The service reads no further, and the system does not take everything.
      for (const { socket } of connections) socket.write(request.repeat(270));
    },
  },
  {
    name: '300 streamed chat requests on each of 50 connections, which are never read',
    async run(target) {
      const request = createLongChat(target.key, { stream: true });
      const connections = await openMany(target, 50, { reads: false });
      await Promise.all(connections.map((connection) => send(connection, request.repeat(30))));
      // The service reads no further, and the system does not take everything.
      for (const { socket } of connections) socket.write(request.repeat(270));
    },
  },
  {
    name: '40,000 requests for /health on one connection',
    async run(target) {
      const connection = await open(target);
      await send(connection, HEALTH.repeat(40_000));
      await connection.untilAnswered(40_000);
      assert.equal(connection.socket.closed, false);
    },
  },
  {
    name: '500 requests for /ready on one connection',
    async run(target) {
      const connection = await open(target);
      await send(connection, HEALTH.replace('/health', '/ready').repeat(500));
      await connection.untilAnswered(500);
      assert.equal(connection.socket.closed, false);
    },
  },
  {
    name: '64 KiB of requests for /health on each of 200 connections',
    async run(target) {
      const connections = await openMany(target, 200);
      const requests = 'GET /health HTTP/1.1\r\n\r\n'.repeat(2700);
      await Promise.all(connections.map((connection) => send(connection, requests)));
      await Promise.all(connections.map(({ untilAnswered }) => untilAnswered(50)));
      assert.ok(connections.every(({ socket }) => !socket.closed));
    },
  },
  {
    name: '16 requests on each of 50 connections, of which the first hangs',
    async run(target) {
      const hanging = createChat(target.key, { messages: [{ role: 'user', content: 'script:[{"hang":true}]' }] });
      const connections = await openMany(target, 50);
      await Promise.all(connections.map((connection) => send(connection, hanging + HEALTH.repeat(15))));
      for (const { socket } of connections) socket.destroy();
      await assertGeneratesForAttacker(target);
    },
  },
  {
    name: 'a websocket handshake behind a request that has no answer yet',
    async run(target) {
      const handshake =
        'GET /api-ws/v1/inference HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: upgrade\r\nupgrade: websocket\r\n' +
        'sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';
      const connection = await open(target);
      await send(connection, HEALTH + handshake);
      await connection.closed;
      await assertAnswersAttacker(target);
    },
  },
];

const REFUSALS: readonly Attack[] = [
  {
    name: '20,000 requests with unknown keys on 50 connections, each sent when the one before was answered',
    async run(target) {
      const connections = await openMany(target, 50);
      let sent = 0;
      let isDelayed = false;
      await Promise.all(
        connections.map(async ({ socket, closed }) => {
          while (!socket.destroyed && sent < 20_000 && !isDelayed) {
            sent += 1;
            const startedAt = performance.now();
            socket.write(createUnknownKeyRequest(sent));
            await Promise.race([once(socket, 'data'), closed]);
            isDelayed ||= performance.now() - startedAt >= 1000;
          }
        }),
      );
      // The address has had its refusals: from now on each connection gets one answer a second.
      assert.ok(isDelayed && sent < 2000, `${sent} requests`);
    },
  },
  {
    name: '3,000 connections, 50 at a time, that send no HTTP',
    async run(target) {
      let left = 3000;
      const attack = async (): Promise<void> => {
        for (; left > 0; left -= 1) {
          const connection = await open(target);
          await send(connection, 'no HTTP\r\n\r\n');
          connection.socket.end();
          await connection.closed;
        }
      };
      await Promise.all(Array.from({ length: 50 }, attack));
      await assertAnswersAttacker(target);
    },
  },
];

const CONNECTIONS: readonly Attack[] = [
  {
    name: '5,000 connections that send nothing',
    async run(target) {
      const connections = await openMany(target, 5000);
      const refused = connections.slice(1500).map(async ({ closed, text }) => {
        await closed;
        return text().slice(0, 12);
      });
      assert.deepEqual(new Set(await Promise.all(refused)), new Set(['HTTP/1.1 429']));
    },
  },
  {
    name: '500 connections that send a head byte by byte',
    async run(target) {
      const connections = await openMany(target, 500);
      const head = 'GET /v1/models HTTP/1.1\r\nx-header: '.padEnd(30_000, 'x');
      let at = 0;
      for await (const _ of setInterval(100)) {
        const open = connections.filter(({ socket }) => !socket.destroyed);
        if (open.length === 0) break;
        for (const { socket } of open) socket.write(head[at] ?? 'x');
        at += 1;
      }
      assert.match(connections[0]?.text() ?? '', /^HTTP\/1\.1 408 /);
    },
  },
  {
    name: '500 requests that hang, of clients that close their half of the connection',
    async run(target) {
      const connections = await openMany(target, 500);
      const request = createChat(target.key, { messages: [{ role: 'user', content: 'script:[{"hang":true}]' }] });
      await Promise.all(connections.map((connection) => send(connection, request)));
      for (const { socket } of connections) socket.end();
      await Promise.all(connections.map(({ closed }) => closed));
      await assertGeneratesForAttacker(target);
    },
  },
];

const STREAMS: readonly Attack[] = [
  {
    name: '30 streams that are never read',
    async run(target) {
      const connections = await openMany(target, 30, { reads: false });
      const request = createLongChat(target.key, { stream: true });
      await Promise.all(connections.map((connection) => send(connection, request)));
    },
  },
];

/** Opens websockets in groups, as `openMany` does. */
async function openWebSockets(target: AttackTarget, count: number): Promise<WebSocket[]> {
  const sockets: WebSocket[] = [];
  while (sockets.length < count) {
    const group = Math.min(50, count - sockets.length);
    sockets.push(...(await Promise.all(Array.from({ length: group }, () => openWebSocket(target)))));
  }
  return sockets;
}

async function openWebSocket({ port, key, signal }: AttackTarget): Promise<WebSocket> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/api-ws/v1/inference`, {
    headers: { authorization: `Bearer ${key}` },
    localAddress: ATTACKER_ADDRESS,
  });
  signal.addEventListener('abort', () => socket.terminate());
  socket.on('error', () => undefined);
  await once(socket, 'open');
  return socket;
}

const getConnection = (socket: WebSocket): Socket => (socket as unknown as { readonly _socket: Socket })._socket;

/** Sends a piece again and again until `bytes` were sent or the service has closed the connection. */
async function flood(socket: WebSocket, piece: Uint8Array, bytes: number): Promise<void> {
  const raw = getConnection(socket);
  const closed = new Promise<void>((resolve) => void socket.once('close', () => resolve()));
  for (let sent = 0; sent < bytes && socket.readyState === socket.OPEN; sent += piece.length)
    await Promise.race([new Promise<void>((resolve) => void raw.write(piece, () => resolve())), closed]);
}

/** Creates a masked websocket frame (RFC 6455, 5.2) whose mask is 0. */
function createFrame(firstByte: number, payload: Uint8Array): Uint8Array {
  const { length } = payload;
  const lengthBytes = length < 126 ? [128 + length] : [128 + 126, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([firstByte, ...lengthBytes, 0, 0, 0, 0]), payload]);
}

const repeatFrame = (frame: Uint8Array, count: number): Uint8Array =>
  Buffer.concat(Array.from({ length: count }, () => frame));

const TEXT_FRAME = 0x81;
const FIRST_FRAGMENT = 0x01;
const NEXT_FRAGMENT = 0x00;
const PING_FRAME = 0x89;

const WEBSOCKETS: readonly Attack[] = [
  {
    name: 'a message of 1 MiB on each of 500 websockets, of which the last byte is never sent',
    async run(target) {
      const sockets = await openWebSockets(target, 500);
      const bytes = SOCKET_MESSAGE_BYTES_MAX;
      const frame = Buffer.alloc(14 + bytes);
      // A masked frame with a length of 64 bits, whose mask is 0.
      frame.set([0x82, 255]);
      frame.writeUInt32BE(bytes, 6);
      let endedCount = 0;
      await new Promise<void>((resolve, reject) => {
        for (const socket of sockets) {
          // The bytes are taken or the connection is closed. Half of the queue may wait instead.
          const end = (): void => {
            endedCount += 1;
            if (endedCount >= sockets.length - QUEUE_LENGTH_MAX / 2) resolve();
          };
          flood(socket, frame.subarray(0, -1), 1).then(end, reject);
        }
      });
    },
  },
  {
    name: '300,000 pings on each of 5 websockets, which are never read',
    async run(target) {
      const sockets = await openWebSockets(target, 5);
      for (const socket of sockets) socket.pause();
      const pings = repeatFrame(createFrame(PING_FRAME, Buffer.alloc(125)), 300_000);
      for (const socket of sockets) getConnection(socket).write(pings);
    },
  },
  {
    name: '5,000 invalid messages on each of 20 websockets, whose answers are never read',
    async run(target) {
      const sockets = await openWebSockets(target, 20);
      for (const socket of sockets) socket.pause();
      const messages = repeatFrame(createFrame(TEXT_FRAME, Buffer.from('{}')), 5000);
      for (const socket of sockets) getConnection(socket).write(messages);
    },
  },
  {
    name: 'a message of 4 million fragments on each of 10 websockets',
    async run(target) {
      const sockets = await openWebSockets(target, 10);
      const closes = sockets.map((socket) => once(socket, 'close'));
      const fragments = repeatFrame(createFrame(NEXT_FRAGMENT, Buffer.from('x')), 5000);
      for (const socket of sockets) await flood(socket, createFrame(FIRST_FRAGMENT, Buffer.from('x')), 1);
      await Promise.all(sockets.map((socket) => flood(socket, fragments, 28_000_000)));
      await Promise.all(closes);
    },
  },
  {
    name: 'a frame of 1 GB announced on each of 50 websockets',
    async run(target) {
      const sockets = await openWebSockets(target, 50);
      const closes = sockets.map((socket) => once(socket, 'close'));
      const head = Buffer.from([0x82, 255, 0, 0, 0, 0, 64, 0, 0, 0, 0, 0, 0, 0]);
      await Promise.all(sockets.map((socket) => flood(socket, head, 1)));
      for (const [code] of await Promise.all(closes)) assert.equal(code, 1009);
    },
  },
];

describeAttacks('attacks with pipelined requests', {}, PIPELINING);
describeAttacks('attacks with connections', {}, CONNECTIONS);
// A sequence for each stream: how a workspace shares them with others is tested elsewhere.
describeAttacks('attacks with streams', { sequences: 128 }, STREAMS);
describeAttacks('attacks with websockets', {}, WEBSOCKETS);
describeAttacks('attacks with refused requests', {}, REFUSALS);
describeAttacks('attacks on two worker processes', { env: { PARLEY_WORKERS: '2' } }, [...PIPELINING, ...REFUSALS]);
