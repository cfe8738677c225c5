import assert from 'node:assert/strict';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setInterval } from 'node:timers/promises';
import { JSON_BODY_BYTES_MAX } from '../../src/core/limits.ts';
import { ATTACKER_ADDRESS, type AttackTarget, describeAttacks } from './harness.ts';

// JSON bodies, which are in memory from their first byte until they are parsed.

/** More of them than the service holds in memory at a time, and five times as many as it holds of one workspace. */
const BODIES = 20;

/** Bytes of a body that arrive at once. The others arrive slowly. */
const FAST_BYTES = (JSON_BODY_BYTES_MAX * 15) / 16;

const SLOW_PIECES = 10;
const SLOW_PIECE_MS = 50;

interface BodyAttack {
  readonly path: string;
  readonly fields: object;
  /** Whether the head states the length of the body. */
  readonly hasLength: boolean;
}

/** Sends a body of the maximum size, filled up by a field that the service ignores, and returns the status. */
async function sendSlowly(
  { port, key, signal }: AttackTarget,
  { path, fields, hasLength }: BodyAttack,
): Promise<number | undefined> {
  const json = JSON.stringify({ ...fields, user: '' });
  const body = Buffer.from(json.replace(/""\}$/, `"${'x'.repeat(JSON_BODY_BYTES_MAX - json.length)}"}`));
  const outgoing = request({
    host: '127.0.0.1',
    port,
    localAddress: ATTACKER_ADDRESS,
    agent: false,
    path,
    method: 'POST',
    signal,
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      ...(hasLength ? { 'content-length': body.length } : {}),
    },
  });
  const answered = new Promise<number | undefined>((resolve, reject) => {
    outgoing.once('error', reject);
    outgoing.once('response', (response) => void text(response).then(() => resolve(response.statusCode), reject));
  });
  const sent = new Promise<void>((resolve) => void outgoing.write(body.subarray(0, FAST_BYTES), () => resolve()));
  await Promise.race([sent, answered]);
  const pieceBytes = (body.length - FAST_BYTES) / SLOW_PIECES;
  let at = FAST_BYTES;
  for await (const _ of setInterval(SLOW_PIECE_MS)) {
    outgoing.write(body.subarray(at, at + pieceBytes));
    at += pieceBytes;
    if (at >= body.length) break;
  }
  outgoing.end();
  return await answered;
}

const CHAT = {
  path: '/v1/chat/completions',
  fields: { model: 'svc-plus', max_tokens: 1, messages: [{ role: 'user', content: 'script:["a"]' }] },
};

const createAttack = (name: string, attack: BodyAttack) => ({
  name,
  // 64 MiB of bodies, and the texts of those that were parsed, until they are collected.
  memoryMibMax: 400,
  async run(target: AttackTarget): Promise<void> {
    const statuses = await Promise.all(Array.from({ length: BODIES }, () => sendSlowly(target, attack)));
    assert.deepEqual(new Set(statuses), new Set([200]), 'each body must be read in the end');
  },
});

describeAttacks('attacks with bodies', {}, [
  createAttack('20 bodies of 16 MiB at once, of which the last MiB arrives slowly', { ...CHAT, hasLength: true }),
  createAttack('20 bodies of 16 MiB and of unstated length at once, of which the last MiB arrives slowly', {
    ...CHAT,
    hasLength: false,
  }),
]);
