import assert from 'node:assert/strict';
import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { test } from 'node:test';
import { WebSocket } from 'ws';
import { pcm } from '../audio/__fixtures__/wav-file.ts';
import { scriptedSpeech } from '../engines/scripted/scripted-speech.ts';
import type { SpeechEngine } from '../engines/speech-engine.ts';
import { realtime, realtimePlain } from '../protocols/realtime/endpoint.ts';
import { TASK, command, createHouse, runTask } from '../protocols/realtime/__fixtures__/realtime-house.ts';
import type { Said } from '../protocols/realtime/__fixtures__/realtime-house.ts';
import { levels } from '../transcription/__fixtures__/levels.ts';
import { startHttp } from './__fixtures__/test-http.ts';

// Realtime recognition over real sockets, with the scripted engine behind it.

const AUDIO = pcm(levels([500, 0], [1_000, 20], [300, 60], [1_500, 0], [700, 41]));
const FINISH = command('finish-task', { input: {} });

async function open(port: number) {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/api-ws/v1/inference`, {
    headers: { authorization: 'bearer sk-good' },
  });
  const said: Said[] = [];
  socket.on('message', (data: Buffer) => said.push(JSON.parse(data.toString('utf8')) as Said));
  socket.on('error', () => undefined);
  const closed = once(socket, 'close');
  await once(socket, 'open');
  const hears = async (event: string): Promise<Said> => {
    for (;;) {
      const found = said.find(({ header }) => header.event === event);
      if (found) return found;
      await turn();
    }
  };
  return { socket, said, closed, hears };
}

/** Recognises for ever, until it is told to stop. */
function endlessEngine() {
  let [calls, aborts] = [0, 0];
  const engine: SpeechEngine = {
    ...scriptedSpeech(),
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

test('a task runs beside fifty connections that ask for nothing', async () => {
  const house = createHouse();
  await using front = await startHttp({ sockets: [realtime(house.needs)] });
  const idle = await Promise.all(Array.from({ length: 50 }, () => open(front.port)));
  const peer = await open(front.port);
  assert.equal(front.http.sockets(), 51);
  for (let round = 1; round <= 2; round += 1) {
    peer.said.length = 0;
    peer.socket.send(runTask());
    await peer.hears('task-started');
    for (let at = 0; at < AUDIO.length; at += 12_800) peer.socket.send(AUDIO.subarray(at, at + 12_800));
    peer.socket.send(FINISH);
    const { payload } = await peer.hears('task-finished');
    assert.deepEqual(payload, { output: {}, usage: null });
    assert.deepEqual(
      peer.said.flatMap(({ payload: { output } }) => (output?.sentence?.sentence_end ? [output.sentence.text] : [])),
      ['w20 w60.', 'W41'],
    );
  }
  assert.ok(idle.every(({ said, socket }) => said.length === 0 && socket.readyState === socket.OPEN));
  const closed = front.http.close({ graceMs: 5_000 });
  for (const each of [...idle, peer]) assert.equal((await each.closed)[0], 1001);
  await closed;
});

test('the engine stops within a second when a client is killed in the middle', async () => {
  const { engine, aborts, calls } = endlessEngine();
  const house = createHouse({ engine });
  await using front = await startHttp({ sockets: [realtime(house.needs)] });
  const peer = await open(front.port);
  peer.socket.send(runTask());
  await peer.hears('task-started');
  peer.socket.send(AUDIO);
  while (calls() === 0) await turn();
  peer.socket.terminate();
  let tookMs = 0;
  for (let lookedAt = performance.now(); aborts() === 0;) {
    await turn();
    // A turn in which the machine stood still counts as one in which it did not.
    tookMs += Math.min(performance.now() - lookedAt, 20);
    lookedAt = performance.now();
  }
  assert.ok(tookMs < 1_000, `${tookMs} ms`);
  assert.deepEqual(house.running, { recognitions: 0, leases: 0 });
});

test('at shutdown what runs has its time, and is told when that is over', async ({ mock }) => {
  const { engine, calls } = endlessEngine();
  const house = createHouse({ engine });
  await using front = await startHttp({ sockets: [realtime(house.needs)] });
  const [stuck, quick] = [await open(front.port), await open(front.port)];
  stuck.socket.send(runTask());
  quick.socket.send(runTask());
  await Promise.all([stuck.hears('task-started'), quick.hears('task-started')]);
  stuck.socket.send(AUDIO);
  while (calls() === 0) await turn();
  // The time is over when the test says so: a busy machine may need longer for what is quick.
  mock.timers.enable({ apis: ['setTimeout'] });
  const closed = front.http.close({ graceMs: 400 });
  quick.socket.send(FINISH);
  await quick.hears('task-finished');
  assert.equal((await quick.closed)[0], 1001);
  mock.timers.tick(399);
  await turn();
  assert.ok(!stuck.said.some(({ header }) => header.event === 'task-failed'));
  mock.timers.tick(1);
  const { header } = await stuck.hears('task-failed');
  assert.deepEqual(
    [header.task_id, header.error_code, header.error_message],
    [TASK, 'ServiceUnavailable', 'The service is shutting down.'],
  );
  assert.equal((await stuck.closed)[0], 1001);
  await closed;
});

test('who asks for the path as for any other is told what it speaks', async () => {
  await using front = await startHttp({ sockets: [realtime(createHouse().needs)], more: [realtimePlain()] });
  for (const path of ['/api-ws/v1/inference', '/api-ws/v1/inference/']) {
    const response = await fetch(`${front.url}${path}`, { headers: { authorization: 'Bearer sk-good' } });
    assert.equal(response.status, 400);
    assert.match(await response.text(), /InvalidParameter.*speaks WebSocket/);
  }
});
