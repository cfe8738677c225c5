import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { createConnection } from './connection.ts';
import type { Connection } from './connection.ts';
import { eventStream } from './event-stream.ts';
import type { Answer } from './event-stream.ts';

let server: Server;
let connection: Connection;
let response: ServerResponse;

before(async () => {
  server = createServer((request, reply) => {
    request.resume();
    response = reply;
    reply.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  connection = createConnection({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});
after(() => {
  connection.close();
  server.closeAllConnections();
  server.close();
});

/** An answer whose events are the events themselves; `last` ends it. */
function echo(late?: Promise<readonly string[]>): Answer<string> {
  let isComplete = false;
  return {
    push(json, emit) {
      emit(json);
      isComplete = json === 'last';
    },
    isComplete: () => isComplete,
    end(emit) {
      if (!isComplete) throw connection.faults.failed('broke off');
      emit('end');
    },
    late: () => late,
  };
}

const frame = (data: string): string => `data: ${data}\n\n`;
const turn = (): Promise<void> => new Promise((turned) => setImmediate(turned));

test('what a slow reader has not taken stops the reading, and nothing of it is lost', async () => {
  const call = await connection.post('x', '{}', {});
  const events = eventStream(call, echo(), connection)[Symbol.asyncIterator]();
  const first = events.next();
  response.write(frame('0'));
  assert.deepEqual(await first, { value: ['0'], done: false });
  let sent = 1;
  // The buffers of both ends fill up, and then the server has to wait.
  const long = 'x'.repeat(100_000);
  while (response.write(frame(`${sent} ${long}`)) || !call.response.isPaused()) {
    sent++;
    await turn();
  }
  assert.ok(call.response.isPaused());
  response.end(frame('last'));
  let received = 0;
  for (let taken = await events.next(); !taken.done; taken = await events.next()) {
    for (const event of taken.value) if (event.endsWith(long)) assert.equal(event, `${++received} ${long}`);
  }
  assert.equal(received, sent);
});

test('what cannot be told at once comes after the end, and then nothing', async () => {
  const call = await connection.post('x', '{}', {});
  const { promise, resolve } = Promise.withResolvers<readonly string[]>();
  const events = eventStream(call, echo(promise), connection)[Symbol.asyncIterator]();
  response.end(frame('last') + frame('[DONE]'));
  assert.deepEqual((await events.next()).value, ['last', 'end']);
  const late = events.next();
  resolve(['late']);
  assert.deepEqual((await late).value, ['late']);
  assert.equal((await events.next()).done, true);
  assert.equal((await events.next()).done, true);
});

test('a stream that broke before anybody read it is told so to the first who does', async () => {
  const call = await connection.post('x', '{}', {});
  const events = eventStream(call, echo(), connection)[Symbol.asyncIterator]();
  response.write(frame('0'));
  response.destroy();
  await new Promise((closed) => call.response.on('close', closed));
  await assert.rejects(async () => events.next(), { kind: 'upstream-failed' });
});

test('leaving closes the connection', async () => {
  const call = await connection.post('x', '{}', {});
  const events = eventStream(call, echo(), connection);
  const closed = once(response, 'close');
  response.write(frame('0') + frame('1'));
  for await (const batch of events) {
    assert.deepEqual(batch, ['0', '1']);
    break;
  }
  await closed;
});
