import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { after } from 'node:test';
import { setInterval } from 'node:timers/promises';
import {
  ACCEPTED_EVENT,
  createLetterEvent,
  type FakeLlamaBody,
  LAST_EVENT,
  startFakeLlamaServer,
  writeStream,
} from '../../src/engines/completion/__fixtures__/fake-llama-server.ts';
import { until } from '../until.ts';
import { ATTACKER_ADDRESS, type AttackTarget, describeAttacks } from './harness.ts';

// Streams of a model on a server with two slots, whose readers take a few bytes at a time. The others use the same model.

const SLOTS = 2;

/** An answer of 12 MB: more than the system and Parley keep for a reader. */
const PIECES = 120;
const PIECE = 'x'.repeat(100_000);

/** Time in which the readers take 100 bytes each 50 ms. */
const READ_MS = 3000;
const PERIOD_MS = 50;

/** Calls that have a slot, and calls that wait for one. */
const running = new Set<ServerResponse>();
const waiting: (() => void)[] = [];

/** Runs a call as soon as it has a slot of the server. */
function runInSlot(response: ServerResponse, run: () => void): void {
  if (running.size >= SLOTS) return void waiting.push(() => runInSlot(response, run));
  if (response.destroyed) return waiting.shift()?.();
  running.add(response);
  response.once('close', () => {
    running.delete(response);
    waiting.shift()?.();
  });
  run();
}

/** Sends a long answer at the speed of its reader. */
function writeLongAnswer(response: ServerResponse, count = 1): void {
  if (response.destroyed) return;
  if (count > PIECES) return void writeStream(response, LAST_EVENT).end();
  writeStream(response, { ...createLetterEvent('x', count), content: PIECE });
  if (response.writableNeedDrain) response.once('drain', () => writeLongAnswer(response, count + 1));
  else setImmediate(() => writeLongAnswer(response, count + 1));
}

const answer = (response: ServerResponse, { n_predict: tokensMax }: FakeLlamaBody): void =>
  runInSlot(response, () => {
    writeStream(response, ACCEPTED_EVENT);
    if (tokensMax === 1) writeStream(response, createLetterEvent('a', 1), LAST_EVENT).end();
    else writeLongAnswer(response);
  });

const server = await startFakeLlamaServer(answer, {
  '/props': (response) => {
    const props = {
      default_generation_settings: { n_ctx: 4096 },
      total_slots: SLOTS,
      chat_template: '{% for message in messages %}{{ message.content }}{% endfor %}',
      bos_token: '<|im_start|>',
      eos_token: '<|im_end|>',
    };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(props));
  },
});
after(() => server.close());

/** Asks for a long answer, and returns the connection, which is not read. */
function startStream({ port, signal }: AttackTarget, key: string, fields: object): Socket {
  const messages = [{ role: 'user', content: 'Go on.' }];
  const body = JSON.stringify({ model: 'svc-plus', stream: true, messages, ...fields });
  const socket = connect({ port, host: '127.0.0.1', localAddress: ATTACKER_ADDRESS }).pause();
  signal.addEventListener('abort', () => socket.destroy());
  socket.on('error', () => undefined);
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${key}\r\n` +
      `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  return socket;
}

/** Reads a few bytes of each stream again and again. */
async function trickle(sockets: readonly Socket[]): Promise<void> {
  const startedAt = performance.now();
  for await (const _ of setInterval(PERIOD_MS)) {
    for (const socket of sockets) socket.read(100);
    if (performance.now() - startedAt >= READ_MS) return;
  }
}

const config = `models: { svc-plus: { url: '${server.url}', server: llama-server, input: prompt } }\n`;

describeAttacks('attacks with slow readers', { config }, [
  {
    name: '3 streams of 12 MB of 3 workspaces, read 100 bytes at a time, of a model on a server with 2 slots',
    async run(target) {
      const keys = [
        target.key,
        ...(await Promise.all(['b', 'c'].map((name) => target.createKey('--workspace', name)))),
      ];
      const sockets = keys.map((key) => startStream(target, key, {}));
      await trickle(sockets);
      await until('the slots are free', { timeoutMs: 20_000 }, async () =>
        server.countOpen() <= 1 ? true : undefined,
      );
      assert.ok(sockets.every((socket) => !socket.destroyed && socket.bytesRead > 100_000));
      for (const socket of sockets) socket.destroy();
    },
  },
]);
