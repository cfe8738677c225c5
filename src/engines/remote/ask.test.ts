import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { ask } from './ask.ts';
import { createConnection } from './connection.ts';
import type { Connection } from './connection.ts';

let server: Server;
let connection: Connection;
let play: (response: ServerResponse) => unknown = () => undefined;

before(async () => {
  server = createServer((_, response) => play(response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  connection = createConnection({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` });
});
after(() => {
  connection.close();
  server.closeAllConnections();
  server.close();
});

const says =
  (body: string, status = 200): typeof play =>
  (response) =>
    response.writeHead(status).end(body);

test('one piece of JSON is the answer, whatever its form', async () => {
  for (const value of [{ a: 1 }, [], 'x', 0, null]) {
    play = says(JSON.stringify(value));
    assert.deepEqual(await ask(connection, 'x', { body: {} }), value);
  }
});

test('a refusal, an error inside a 200, nothing, no JSON and too much are failures', async () => {
  const failures: readonly [typeof play, string][] = [
    [says('{"error":"no"}', 400), 'invalid-request'],
    [says('{"error":{"message":"no","code":429}}'), 'overloaded'],
    [says('{"message":"not here"}', 501), 'unsupported'],
    [says(''), 'upstream-failed'],
    [says('<html>'), 'upstream-failed'],
    [says(JSON.stringify('x'.repeat(200))), 'upstream-failed'],
    [(response) => response.writeHead(200).write('[1,', () => response.destroy()), 'upstream-failed'],
  ];
  for (const [failure, kind] of failures) {
    play = failure;
    await assert.rejects(ask(connection, 'x', { charactersMax: 100 }), { kind });
  }
});

test('a question has the time that it is given', async () => {
  play = () => undefined;
  await assert.rejects(ask(connection, 'x', { answerMs: 20 }), { kind: 'timeout' });
  play = (response) => response.writeHead(200).write('[');
  await assert.rejects(ask(connection, 'x', { answerMs: 20 }), { kind: 'timeout' });
});
