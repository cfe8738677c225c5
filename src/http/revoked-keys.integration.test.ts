import assert from 'node:assert/strict';
import { once } from 'node:events';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { test } from 'node:test';
import { WebSocket } from 'ws';
import type { Generate } from '../generation/generation.ts';
import { systemClock } from '../lib/clock.ts';
import {
  BLOCK_START_EVENT,
  START_EVENT,
  chatRequest,
  connectRaw,
  createTextDelta,
  ECHO_SOCKET,
  startTestHttp,
} from './__fixtures__/test-http.ts';
import { KEY_CACHE_MS } from '../resources/limits.ts';
import { KEY_CHECK_MS } from './revoked-keys.ts';

/** Emits `Hel`, then nothing until the request is aborted. */
const hang: Generate = (_request, _on, { signal }) => {
  const aborted = Promise.withResolvers<never>();
  aborted.promise.catch(() => undefined);
  signal.addEventListener('abort', () => aborted.reject(signal.reason), { once: true });
  const batches = (async function* () {
    yield [START_EVENT, BLOCK_START_EVENT, createTextDelta('Hel')];
    await aborted.promise;
  })();
  return Promise.resolve({ batches, ignored: [] });
};

const MESSAGE = 'The key was revoked, or has expired, during the request.';

test('ends streams and websockets within two checks after their key was revoked, and looks each key up once', async () => {
  let skippedMs = 0;
  let answer: () => Promise<boolean> = async () => true;
  const lookups: string[] = [];
  const checks: (() => void)[] = [];
  await using server = await startTestHttp({
    generate: hang,
    sockets: [ECHO_SOCKET],
    clock: { now: systemClock.now, monotonic: () => systemClock.monotonic() + skippedMs },
    isKeyActive: (id) => {
      lookups.push(id);
      return answer();
    },
    startInterval: (ms, run) => {
      if (ms === KEY_CHECK_MS) checks.push(run);
      return () => undefined;
    },
  });
  const check = async (): Promise<void> => {
    checks[0]?.();
    await yieldToEventLoop();
  };
  assert.ok(KEY_CACHE_MS + KEY_CHECK_MS * 2 <= 5_000);
  using first = connectRaw(server.port, chatRequest());
  using second = connectRaw(server.port, chatRequest());
  await Promise.all([first.readUntil('Hel'), second.readUntil('Hel')]);
  await check();
  assert.deepEqual(lookups, [], 'the calls are younger than the interval');
  skippedMs += KEY_CHECK_MS;
  const socket = new WebSocket(`ws://127.0.0.1:${server.port}${ECHO_SOCKET.path}`, {
    headers: { authorization: 'bearer sk-good' },
  });
  await once(socket, 'open');

  answer = async () => Promise.reject(new Error('the store is busy'));
  await check();
  answer = async () => true;
  await check();
  assert.equal(lookups.length, 2, 'three pieces of work of one key are one lookup');
  assert.equal(server.http.countInFlight(), 2);

  answer = async () => false;
  const message = once(socket, 'message');
  const closed = once(socket, 'close');
  await check();
  for (const peer of [first, second]) assert.match(await peer.readUntil('"code"'), new RegExp(`data: .*${MESSAGE}`));
  assert.equal(String((await message)[0]), MESSAGE);
  assert.equal((await closed)[0], 1008);
});
