import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { after, before, beforeEach, test } from 'node:test';
import { requestUpstreamJson } from './request-json.ts';
import { createUpstreamClient, type UpstreamClient, type UpstreamClientOptions } from './upstream-client.ts';

interface ReceivedCall {
  readonly what: string;
  readonly headers: IncomingHttpHeaders;
}

let target: Server;
let proxy: Server;
let receivedCalls: ReceivedCall[] = [];
const connections: UpstreamClient[] = [];

const getPort = (server: Server): number => (server.address() as AddressInfo).port;
const targetUrl = (): string => `http://127.0.0.1:${getPort(target)}/v1`;
const proxyUrl = (): string => `http://127.0.0.1:${getPort(proxy)}`;
const connect = (options: Partial<UpstreamClientOptions>): UpstreamClient => {
  const client = createUpstreamClient({ url: targetUrl(), apiKey: 'sk-1', ...options });
  connections.push(client);
  return client;
};

before(async () => {
  target = createServer((_, response) => response.end('"here"')).listen(0, '127.0.0.1');
  // A forward proxy: it accepts absolute URLs and refuses tunnels.
  proxy = createServer((request, response) => {
    const { url = '', method, headers } = request;
    receivedCalls.push({ what: `${method} ${url}`, headers });
    request.pipe(
      httpRequest(url, { method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 0, answer.headers);
        answer.pipe(response);
      }),
    );
  }).listen(0, '127.0.0.1');
  proxy.on('connect', ({ method, url, headers }, socket) => {
    receivedCalls.push({ what: `${method} ${url}`, headers });
    socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
  });
  await Promise.all([once(target, 'listening'), once(proxy, 'listening')]);
});
beforeEach(() => {
  receivedCalls = [];
});
after(() => {
  for (const client of connections) client.close();
  for (const server of [target, proxy]) {
    server.closeAllConnections();
    server.close();
  }
});

test('uses the proxy that the environment names, in upper or lower case', async () => {
  for (const name of ['HTTP_PROXY', 'http_proxy']) {
    assert.equal(await requestUpstreamJson(connect({ proxies: { [name]: proxyUrl() } }), 'models', {}), 'here');
  }
  assert.deepEqual(
    receivedCalls.map(({ what }) => what),
    Array(2).fill(`GET ${targetUrl()}/models`),
  );
});

test("calls addresses in NO_PROXY and Parley's own servers directly", async () => {
  for (const proxies of [{ HTTP_PROXY: proxyUrl(), NO_PROXY: '127.0.0.1' }, { HTTPS_PROXY: proxyUrl() }, undefined]) {
    assert.equal(await requestUpstreamJson(connect({ proxies }), 'models', {}), 'here');
  }
  assert.deepEqual(receivedCalls, []);
});

test('opens a tunnel through the proxy for a server with TLS, without sending the key to the proxy', async () => {
  const client = connect({ url: 'https://llm.example:8443/v1', proxies: { HTTPS_PROXY: proxyUrl() } });
  await assert.rejects(requestUpstreamJson(client, 'models', {}), { kind: 'upstream-failed' });
  assert.deepEqual(
    receivedCalls.map(({ what, headers }) => [what, headers.authorization]),
    [['CONNECT llm.example:8443', undefined]],
  );
});

test('gives up an unresponsive proxy after the connect limit, or when the caller leaves', async () => {
  const mute = createServer().listen(0, '127.0.0.1');
  const tunnels: Duplex[] = [];
  mute.on('connect', (_, socket) => tunnels.push(socket));
  await once(mute, 'listening');
  const proxies = { HTTPS_PROXY: `http://127.0.0.1:${getPort(mute)}` };
  const url = 'https://llm.example/v1';
  const client = connect({ url, proxies, timeouts: { connectMs: 30 } });
  await assert.rejects(requestUpstreamJson(client, 'models', {}), { kind: 'timeout' });
  const caller = new AbortController();
  const asking = requestUpstreamJson(connect({ url, proxies }), 'models', { signal: caller.signal });
  mute.once('connect', () => caller.abort());
  await assert.rejects(asking, { kind: 'cancelled' });
  for (const tunnel of tunnels) tunnel.destroy();
  mute.close();
});
