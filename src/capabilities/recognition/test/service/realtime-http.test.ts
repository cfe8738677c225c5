import assert from 'node:assert/strict';
import { once } from 'node:events';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { test } from 'node:test';
import { WebSocket } from 'ws';
import { encodePcm16 } from '../../audio/__fixtures__/test-wav-file.ts';
import { createScriptedSpeechEngine } from '../../../../engines/scripted/scripted-speech-engine.ts';
import type { SpeechEngine } from '../../../../engines/speech-engine.ts';
import { createRealtimeEndpoint, createRealtimeHttpEndpoint } from '../../realtime/endpoint.ts';
import { TASK, createCommand, createTestRealtime, createRunTask } from '../../realtime/__fixtures__/test-realtime.ts';
import type { SentEvent } from '../../realtime/__fixtures__/test-realtime.ts';
import { createTestAudio } from '../../transcription/__fixtures__/test-audio.ts';
import { startTestHttp } from '../../../../http/__fixtures__/test-http.ts';

// Realtime recognition over real sockets with a scripted engine.

const AUDIO = encodePcm16(createTestAudio([500, 0], [1_000, 20], [300, 60], [1_500, 0], [700, 41]));
const FINISH = createCommand('finish-task', { input: {} });

async function open(port: number) {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/api-ws/v1/inference`, {
    headers: { authorization: 'bearer sk-good' },
  });
  const messages: SentEvent[] = [];
  socket.on('message', (data: Buffer) => messages.push(JSON.parse(data.toString('utf8')) as SentEvent));
  socket.on('error', () => undefined);
  const closed = once(socket, 'close');
  await once(socket, 'open');
  const waitForEvent = async (event: string): Promise<SentEvent> => {
    for (;;) {
      const found = messages.find(({ header }) => header.event === event);
      if (found) return found;
      await yieldToEventLoop();
    }
  };
  return { socket, messages, closed, waitForEvent };
}

/** Engine whose recognition never ends until it is aborted. */
function endlessEngine() {
  let [calls, aborts] = [0, 0];
  const engine: SpeechEngine = {
    ...createScriptedSpeechEngine(),
    recognize: (_request, signal) => {
      calls += 1;
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          aborts += 1;
          reject(signal.reason as Error);
        });
      });
    },
  };
  return { engine, calls: () => calls, aborts: () => aborts };
}

test('runs a task while fifty other connections are idle', async () => {
  const realtime = createTestRealtime();
  await using server = await startTestHttp({ sockets: [createRealtimeEndpoint(realtime.deps)] });
  const idle = await Promise.all(Array.from({ length: 50 }, () => open(server.port)));
  const peer = await open(server.port);
  assert.equal(server.http.countSockets(), 51);
  for (let round = 1; round <= 2; round += 1) {
    peer.messages.length = 0;
    peer.socket.send(createRunTask());
    await peer.waitForEvent('task-started');
    for (let at = 0; at < AUDIO.length; at += 12_800) peer.socket.send(AUDIO.subarray(at, at + 12_800));
    peer.socket.send(FINISH);
    const { payload } = await peer.waitForEvent('task-finished');
    assert.deepEqual(payload, { output: {}, usage: null });
    assert.deepEqual(
      peer.messages.flatMap(({ payload: { output } }) =>
        output?.sentence?.sentence_end ? [output.sentence.text] : [],
      ),
      ['w20 w60.', 'W41'],
    );
  }
  assert.ok(idle.every(({ messages, socket }) => messages.length === 0 && socket.readyState === socket.OPEN));
  const closed = server.http.close({ graceMs: 5_000 });
  for (const each of [...idle, peer]) assert.equal((await each.closed)[0], 1001);
  await closed;
});

test('aborts the engine within a second after the connection of the client breaks', async () => {
  const { engine, aborts, calls } = endlessEngine();
  const realtime = createTestRealtime({ engine });
  await using server = await startTestHttp({ sockets: [createRealtimeEndpoint(realtime.deps)] });
  const peer = await open(server.port);
  peer.socket.send(createRunTask());
  await peer.waitForEvent('task-started');
  peer.socket.send(AUDIO);
  while (calls() === 0) await yieldToEventLoop();
  peer.socket.terminate();
  let tookMs = 0;
  for (let lookedAt = performance.now(); aborts() === 0;) {
    await yieldToEventLoop();
    // A pause of the whole machine counts as one short iteration.
    tookMs += Math.min(performance.now() - lookedAt, 20);
    lookedAt = performance.now();
  }
  assert.ok(tookMs < 1_000, `${tookMs} ms`);
  assert.deepEqual(realtime.running, { recognitions: 0, leases: 0 });
});

test('lets running tasks finish within the grace time at shutdown, then fails them', async ({ mock }) => {
  const { engine, calls } = endlessEngine();
  const realtime = createTestRealtime({ engine });
  await using server = await startTestHttp({ sockets: [createRealtimeEndpoint(realtime.deps)] });
  const [stuck, quick] = [await open(server.port), await open(server.port)];
  stuck.socket.send(createRunTask());
  quick.socket.send(createRunTask());
  await Promise.all([stuck.waitForEvent('task-started'), quick.waitForEvent('task-started')]);
  stuck.socket.send(AUDIO);
  while (calls() === 0) await yieldToEventLoop();
  // Mocked time: on a busy machine the quick task may take longer than the grace time.
  mock.timers.enable({ apis: ['setTimeout'] });
  const closed = server.http.close({ graceMs: 400 });
  quick.socket.send(FINISH);
  await quick.waitForEvent('task-finished');
  assert.equal((await quick.closed)[0], 1001);
  mock.timers.tick(399);
  await yieldToEventLoop();
  assert.ok(!stuck.messages.some(({ header }) => header.event === 'task-failed'));
  mock.timers.tick(1);
  const { header } = await stuck.waitForEvent('task-failed');
  assert.deepEqual(
    [header.task_id, header.error_code, header.error_message],
    [TASK, 'ServiceUnavailable', 'The service is shutting down.'],
  );
  assert.equal((await stuck.closed)[0], 1001);
  await closed;
});

test('answers a plain HTTP request to the websocket path with 400', async () => {
  await using server = await startTestHttp({
    sockets: [createRealtimeEndpoint(createTestRealtime().deps)],
    more: [createRealtimeHttpEndpoint()],
  });
  for (const path of ['/api-ws/v1/inference', '/api-ws/v1/inference/']) {
    const response = await fetch(`${server.url}${path}`, { headers: { authorization: 'Bearer sk-good' } });
    assert.equal(response.status, 400);
    assert.match(await response.text(), /InvalidParameter.*accepts WebSocket connections only/);
  }
});
