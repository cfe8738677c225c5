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
import { createWatch } from './watch.ts';

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

test('an end mark between blanks is one', async () => {
  const call = await connection.post('x', '{}', {});
  const events = eventStream(call, echo(), connection)[Symbol.asyncIterator]();
  response.write('data: last\n\ndata: [DONE] \t \n\n');
  assert.deepEqual((await events.next()).value, ['last', 'end']);
  assert.equal((await events.next()).done, true);
  response.end();
});

test('bytes of an event that does not end, and comments, are no progress; events that say nothing are', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const timeouts = { ...connection.timeouts, idleMs: 150 };
  const quiet: Answer<string> = {
    ...echo(),
    push(json, emit) {
      if (json !== 'nothing') emit(json);
    },
  };
  for (const [drip, isProgress] of [
    ['x', false],
    [':\n\n', false],
    [frame('nothing'), true],
  ] as const) {
    const call = await connection.post('x', '{}', {});
    // Time is what the test says: that of a busy machine may stand still for longer than the limit.
    let time = 0;
    const cutOff = (): void => void call.response.destroy(connection.faults.tooSlow(watch.expired() ?? ''));
    const watch = createWatch(cutOff, () => time);
    const pass = (ms: number): void => {
      time += ms;
      t.mock.timers.tick(ms);
    };
    const reply = response;
    const answer = eventStream({ ...call, watch }, quiet, { faults: connection.faults, timeouts });
    const events = answer[Symbol.asyncIterator]();
    const first = events.next();
    reply.write(frame('0'));
    assert.deepEqual((await first).value, ['0']);
    const second = events.next();
    const told = isProgress ? second : assert.rejects(second, { kind: 'timeout' }, drip);
    const arrives = (piece: string): Promise<unknown> => {
      const arrived = once(call.response, 'data');
      reply.write(piece);
      return arrived;
    };
    if (drip === 'x') await arrives('data: ');
    for (let drops = 1; drops <= 20 && watch.expired() === undefined; drops++) {
      await arrives(drip);
      pass(15);
      assert.equal(watch.expired() === undefined, isProgress || drops < 10, `${drip} ${drops}`);
    }
    if (isProgress) reply.write(frame('1'));
    assert.deepEqual((await told)?.value, isProgress ? ['1'] : undefined);
    reply.destroy();
    await events.return?.();
  }
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
