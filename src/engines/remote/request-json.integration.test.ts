import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { requestUpstreamJson } from './request-json.ts';
import { createUpstreamClient, type UpstreamClient } from './upstream-client.ts';

let server: Server;
let client: UpstreamClient;
let play: (response: ServerResponse) => unknown = () => undefined;

before(async () => {
  server = createServer((_, response) => play(response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  client = createUpstreamClient({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` });
});
after(() => {
  client.close();
  server.closeAllConnections();
  server.close();
});

const respondWith =
  (body: string, status = 200): typeof play =>
  (response) =>
    response.writeHead(status).end(body);

test('returns the JSON value of a response, whatever its form', async () => {
  for (const value of [{ a: 1 }, [], 'x', 0, null]) {
    play = respondWith(JSON.stringify(value));
    assert.deepEqual(await requestUpstreamJson(client, 'x', { body: {} }), value);
  }
});

test('fails for an error status, an error inside a 200, an empty body, invalid JSON and a body that is too long', async () => {
  const failures: readonly [typeof play, string][] = [
    [respondWith('{"error":"no"}', 400), 'invalid-request'],
    [respondWith('{"error":{"message":"no","code":429}}'), 'overloaded'],
    [respondWith('{"message":"not here"}', 501), 'unsupported'],
    [respondWith(''), 'upstream-failed'],
    [respondWith('<html>'), 'upstream-failed'],
    [respondWith(JSON.stringify('x'.repeat(200))), 'upstream-failed'],
    [(response) => response.writeHead(200).write('[1,', () => response.destroy()), 'upstream-failed'],
  ];
  for (const [failure, kind] of failures) {
    play = failure;
    await assert.rejects(requestUpstreamJson(client, 'x', { charactersMax: 100 }), { kind });
  }
});

test('times out after the given time', async () => {
  play = () => undefined;
  await assert.rejects(requestUpstreamJson(client, 'x', { responseMs: 20 }), { kind: 'timeout' });
  play = (response) => response.writeHead(200).write('[');
  await assert.rejects(requestUpstreamJson(client, 'x', { responseMs: 20 }), { kind: 'timeout' });
});
