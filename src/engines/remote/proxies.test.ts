import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request as httpRequest } from 'node:http';
import type { IncomingHttpHeaders, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { after, before, beforeEach, test } from 'node:test';
import { ask } from './ask.ts';
import { createConnection } from './connection.ts';
import type { Connection, ConnectionOptions } from './connection.ts';

interface Seen {
  readonly what: string;
  readonly headers: IncomingHttpHeaders;
}

let target: Server;
let proxy: Server;
let seen: Seen[] = [];
const connections: Connection[] = [];

const portOf = (server: Server): number => (server.address() as AddressInfo).port;
const targetUrl = (): string => `http://127.0.0.1:${portOf(target)}/v1`;
const proxyUrl = (): string => `http://127.0.0.1:${portOf(proxy)}`;
const connect = (options: Partial<ConnectionOptions>): Connection => {
  const connection = createConnection({ url: targetUrl(), apiKey: 'sk-1', ...options });
  connections.push(connection);
  return connection;
};

before(async () => {
  target = createServer((_, response) => response.end('"here"')).listen(0, '127.0.0.1');
  // A forward proxy as they are: whole addresses are passed on, tunnels are refused.
  proxy = createServer((request, response) => {
    const { url = '', method, headers } = request;
    seen.push({ what: `${method} ${url}`, headers });
    request.pipe(
      httpRequest(url, { method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 0, answer.headers);
        answer.pipe(response);
      }),
    );
  }).listen(0, '127.0.0.1');
  proxy.on('connect', ({ method, url, headers }, socket) => {
    seen.push({ what: `${method} ${url}`, headers });
    socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
  });
  await Promise.all([once(target, 'listening'), once(proxy, 'listening')]);
});
beforeEach(() => {
  seen = [];
});
after(() => {
  for (const connection of connections) connection.close();
  for (const server of [target, proxy]) {
    server.closeAllConnections();
    server.close();
  }
});

test('calls pass the proxy that the environment names, in either case of its letters', async () => {
  for (const name of ['HTTP_PROXY', 'http_proxy']) {
    assert.equal(await ask(connect({ proxies: { [name]: proxyUrl() } }), 'models', {}), 'here');
  }
  assert.deepEqual(
    seen.map(({ what }) => what),
    Array(2).fill(`GET ${targetUrl()}/models`),
  );
});

test('addresses that are named as such, and servers of our own, are called directly', async () => {
  for (const proxies of [{ HTTP_PROXY: proxyUrl(), NO_PROXY: '127.0.0.1' }, { HTTPS_PROXY: proxyUrl() }, undefined]) {
    assert.equal(await ask(connect({ proxies }), 'models', {}), 'here');
  }
  assert.deepEqual(seen, []);
});

test('a proxy is asked for a tunnel to a server with TLS, and is not told our key', async () => {
  const connection = connect({ url: 'https://llm.example:8443/v1', proxies: { HTTPS_PROXY: proxyUrl() } });
  await assert.rejects(ask(connection, 'models', {}), { kind: 'upstream-failed' });
  assert.deepEqual(
    seen.map(({ what, headers }) => [what, headers.authorization]),
    [['CONNECT llm.example:8443', undefined]],
  );
});

test('a proxy that does not answer is given up in the time for connecting, or when the caller leaves', async () => {
  const mute = createServer().listen(0, '127.0.0.1');
  const tunnels: Duplex[] = [];
  mute.on('connect', (_, socket) => tunnels.push(socket));
  await once(mute, 'listening');
  const proxies = { HTTPS_PROXY: `http://127.0.0.1:${portOf(mute)}` };
  const url = 'https://llm.example/v1';
  const connection = connect({ url, proxies, timeouts: { connectMs: 30 } });
  await assert.rejects(ask(connection, 'models', {}), { kind: 'timeout' });
  const caller = new AbortController();
  const asking = ask(connect({ url, proxies }), 'models', { signal: caller.signal });
  mute.once('connect', () => caller.abort());
  await assert.rejects(asking, { kind: 'cancelled' });
  for (const tunnel of tunnels) tunnel.destroy();
  mute.close();
});
