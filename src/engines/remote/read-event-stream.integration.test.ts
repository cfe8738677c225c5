import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { createUpstreamClient, type UpstreamClient } from './upstream-client.ts';
import { readEventStream } from './read-event-stream.ts';
import type { ResponseParser } from './response-parser.ts';
import { createStepTimer } from './step-timer.ts';

let server: Server;
let client: UpstreamClient;
let response: ServerResponse;

before(async () => {
  server = createServer((request, reply) => {
    request.resume();
    response = reply;
    reply.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  client = createUpstreamClient({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});
after(() => {
  client.close();
  server.closeAllConnections();
  server.close();
});

/** Creates a parser whose events are the data of the frames; `last` ends the response. */
function createEchoParser(late?: Promise<readonly string[]>): ResponseParser<string> {
  let isComplete = false;
  return {
    push(json, emit) {
      emit(json);
      isComplete = json === 'last';
    },
    isComplete: () => isComplete,
    isOverrun: () => false,
    end(emit) {
      if (!isComplete) throw client.errors.createFailure('broke off');
      emit('end');
    },
    readTrailingEvents: () => late,
  };
}

const frame = (data: string): string => `data: ${data}\n\n`;
const waitTurn = (): Promise<void> => new Promise((turned) => setImmediate(turned));

test('pauses the socket for a slow reader, and loses nothing', async () => {
  const call = await client.post('x', '{}', {});
  const events = readEventStream(call, createEchoParser(), client)[Symbol.asyncIterator]();
  const first = events.next();
  response.write(frame('0'));
  assert.deepEqual(await first, { value: ['0'], done: false });
  let sent = 1;
  // The buffers of both ends fill up, and then the server must wait.
  const long = 'x'.repeat(100_000);
  while (response.write(frame(`${sent} ${long}`)) || !call.response.isPaused()) {
    sent++;
    await waitTurn();
  }
  assert.ok(call.response.isPaused());
  response.end(frame('last'));
  let received = 0;
  for (let taken = await events.next(); !taken.done; taken = await events.next()) {
    for (const event of taken.value) if (event.endsWith(long)) assert.equal(event, `${++received} ${long}`);
  }
  assert.equal(received, sent);
});

test('yields trailing events after the end, and then ends', async () => {
  const call = await client.post('x', '{}', {});
  const { promise, resolve } = Promise.withResolvers<readonly string[]>();
  const events = readEventStream(call, createEchoParser(promise), client)[Symbol.asyncIterator]();
  response.end(frame('last') + frame('[DONE]'));
  assert.deepEqual((await events.next()).value, ['last', 'end']);
  const late = events.next();
  resolve(['late']);
  assert.deepEqual((await late).value, ['late']);
  assert.equal((await events.next()).done, true);
  assert.equal((await events.next()).done, true);
});

test('accepts an end mark between blanks', async () => {
  const call = await client.post('x', '{}', {});
  const events = readEventStream(call, createEchoParser(), client)[Symbol.asyncIterator]();
  response.write('data: last\n\ndata: [DONE] \t \n\n');
  assert.deepEqual((await events.next()).value, ['last', 'end']);
  assert.equal((await events.next()).done, true);
  response.end();
});

test('counts whole events as progress, but neither comments nor unfinished events', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const timeouts = { ...client.timeouts, idleMs: 150 };
  const quiet: ResponseParser<string> = {
    ...createEchoParser(),
    push(json, emit) {
      if (json !== 'nothing') emit(json);
    },
  };
  for (const [drip, isProgress] of [
    ['x', false],
    [':\n\n', false],
    [frame('nothing'), true],
  ] as const) {
    const call = await client.post('x', '{}', {});
    // A fake clock: on a busy machine, real time may stand still for longer than the limit.
    let time = 0;
    const cutOff = (): void => void call.response.destroy(client.errors.createTimeout(timer.getExpiredStep() ?? ''));
    const timer = createStepTimer(cutOff, () => time);
    const pass = (ms: number): void => {
      time += ms;
      t.mock.timers.tick(ms);
    };
    const reply = response;
    const answer = readEventStream({ ...call, timer }, quiet, { errors: client.errors, timeouts });
    const events = answer[Symbol.asyncIterator]();
    const first = events.next();
    reply.write(frame('0'));
    assert.deepEqual((await first).value, ['0']);
    const second = events.next();
    const outcome = isProgress ? second : assert.rejects(second, { kind: 'timeout' }, drip);
    const arrives = (piece: string): Promise<unknown> => {
      const arrived = once(call.response, 'data');
      reply.write(piece);
      return arrived;
    };
    if (drip === 'x') await arrives('data: ');
    for (let drops = 1; drops <= 20 && timer.getExpiredStep() === undefined; drops++) {
      await arrives(drip);
      pass(15);
      assert.equal(timer.getExpiredStep() === undefined, isProgress || drops < 10, `${drip} ${drops}`);
    }
    if (isProgress) reply.write(frame('1'));
    assert.deepEqual((await outcome)?.value, isProgress ? ['1'] : undefined);
    reply.destroy();
    await events.return?.();
  }
});

test('reports a stream that broke before the first read to its reader', async () => {
  const call = await client.post('x', '{}', {});
  const events = readEventStream(call, createEchoParser(), client)[Symbol.asyncIterator]();
  response.write(frame('0'));
  response.destroy();
  await new Promise((closed) => call.response.on('close', closed));
  await assert.rejects(async () => events.next(), { kind: 'upstream-failed' });
});

test('closes the connection when the reader leaves', async () => {
  const call = await client.post('x', '{}', {});
  const events = readEventStream(call, createEchoParser(), client);
  const closed = once(response, 'close');
  response.write(frame('0') + frame('1'));
  for await (const batch of events) {
    assert.deepEqual(batch, ['0', '1']);
    break;
  }
  await closed;
});
