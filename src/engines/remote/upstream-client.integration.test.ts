import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { afterEach, beforeEach, test } from 'node:test';
import { inspect } from 'node:util';
import { requestUpstreamJson } from './request-json.ts';
import { createUpstreamClient, type UpstreamClient } from './upstream-client.ts';

let reply: (request: string) => string;
let sockets: Socket[] = [];
let port = 0;
let close: () => void;
let connections: UpstreamClient[] = [];

beforeEach(async () => {
  sockets = [];
  connections = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.on('data', (data) => socket.write(reply(data.toString())));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  port = (server.address() as AddressInfo).port;
  close = () => server.close();
});
afterEach(() => {
  for (const client of connections) client.close();
  for (const socket of sockets) socket.destroy();
  close();
});

function connect(base = `http://127.0.0.1:${port}/v1`): UpstreamClient {
  const client = createUpstreamClient({ url: base });
  connections.push(client);
  return client;
}

const answer = (status: string, body: string): string =>
  `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

test('fails when a server switches protocols instead of answering', { timeout: 10_000 }, async () => {
  const upgrade = 'HTTP/1.1 101 S\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n';
  const client = connect();
  for (const text of [upgrade, `${upgrade}more`]) {
    reply = () => text;
    await assert.rejects(client.get('x', {}), { kind: 'upstream-failed' });
    await assert.rejects(client.post('x', '{}', {}), { kind: 'upstream-failed' });
  }
  reply = () => answer('200 OK', '1');
  assert.equal(await requestUpstreamJson(client, 'x', {}), 1);
  reply = () => upgrade;
  await assert.rejects(client.get('x', {}), { kind: 'upstream-failed' }, 'also on a reused connection');
});

test('reuses the connection after an answer that ended', async () => {
  const client = connect();
  reply = () => answer('200 OK', '{}');
  for (let each = 0; each < 3; each++) assert.deepEqual(await requestUpstreamJson(client, 'x', {}), {});
  assert.equal(sockets.length, 1);
});

test('masks secrets of the address that a server quotes', async () => {
  const client = connect(`http://someone:pass%2Fword@127.0.0.1:${port}/v1?code=s3cr3t%20value&n=abc`);
  for (const status of ['400 Bad Request', '404 Not Found', '429 Too Many', '500 Failed']) {
    reply = (request) =>
      answer(status, JSON.stringify({ message: `refused: ${decodeURIComponent(request)} ${request}` }));
    const error = await requestUpstreamJson(client, 'x', {}).catch((thrown: unknown) => thrown);
    const { message, cause } = Object(error);
    assert.match(`${message} ${cause.message}`, /refused: GET \/v1\/x\?code=\[hidden\]&n=abc .*Basic \[hidden\]/s);
    const basic = Buffer.from('someone:pass/word').toString('base64');
    for (const secret of ['someone', 'pass%2Fword', 'pass/word', 's3cr3t', basic]) {
      assert.ok(!inspect(error, { depth: 5 }).includes(secret), `${status}: ${secret}`);
    }
  }
});
