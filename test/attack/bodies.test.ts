import assert from 'node:assert/strict';
import { type ClientRequest, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setInterval } from 'node:timers/promises';
import { JSON_BODY_BYTES_MAX } from '../../src/core/limits.ts';
import { until } from '../until.ts';
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

/** Creates a body of the maximum size, filled up by a field that the service ignores. */
function createBody(fields: object): Buffer {
  const json = JSON.stringify({ ...fields, user: '' });
  return Buffer.from(json.replace(/""\}$/, `"${'x'.repeat(JSON_BODY_BYTES_MAX - json.length)}"}`));
}

interface StartedRequest {
  readonly outgoing: ClientRequest;
  /** Resolves with the status of the response. */
  readonly answered: Promise<number | undefined>;
}

/** Starts to send a body. */
function startRequest(
  { port, key, signal }: Pick<AttackTarget, 'port' | 'key' | 'signal'>,
  { path, length }: { readonly path: string; readonly length?: number },
): StartedRequest {
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
      ...(length === undefined ? {} : { 'content-length': length }),
    },
  });
  const answered = new Promise<number | undefined>((resolve, reject) => {
    outgoing.once('error', reject);
    outgoing.once('response', (response) => void text(response).then(() => resolve(response.statusCode), reject));
  });
  return { outgoing, answered };
}

/** Sends a body, of which the end arrives slowly, and returns the status. */
async function sendSlowly(target: AttackTarget, { path, fields, hasLength }: BodyAttack): Promise<number | undefined> {
  const body = createBody(fields);
  const { outgoing, answered } = startRequest(target, { path, ...(hasLength && { length: body.length }) });
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

const createKeys = (target: AttackTarget, count: number): Promise<readonly string[]> =>
  Promise.all(Array.from({ length: count }, (_, i) => target.createKey('--workspace', `workspace-${i}`)));

const createAttack = (name: string, attack: BodyAttack) => ({
  name,
  // 64 MiB of bodies, and the texts of those that were parsed, until they are collected.
  memoryMibMax: 400,
  async run(target: AttackTarget): Promise<void> {
    const statuses = await Promise.all(Array.from({ length: BODIES }, () => sendSlowly(target, attack)));
    assert.deepEqual(new Set(statuses), new Set([200]), 'each body must be read in the end');
  },
});

/** Workspaces whose bodies would fill all of the memory for bodies, and the bodies of each. */
const ATTACKING_WORKSPACES = 4;
const WORKSPACE_BODIES = 4;

describeAttacks('attacks with bodies', {}, [
  createAttack('20 bodies of 16 MiB at once, of which the last MiB arrives slowly', { ...CHAT, hasLength: true }),
  createAttack('20 bodies of 16 MiB and of unstated length at once, of which the last MiB arrives slowly', {
    ...CHAT,
    hasLength: false,
  }),
  {
    name: '4 bodies of 16 MiB of each of 4 workspaces, of which the last byte is never sent, before one of another workspace',
    memoryMibMax: 400,
    async run(target) {
      const body = createBody(CHAT.fields);
      const length = body.length;
      const keys = [target.key, ...(await createKeys(target, ATTACKING_WORKSPACES))];
      const [newcomer = '', ...attackers] = keys.reverse();
      const held = attackers.flatMap((key) =>
        Array.from({ length: WORKSPACE_BODIES }, () => startRequest({ ...target, key }, { path: CHAT.path, length })),
      );
      for (const { outgoing, answered } of held) {
        answered.catch(() => undefined);
        outgoing.write(body.subarray(0, -1));
      }
      // The service has read three quarters of the memory for bodies, and reads no more of these.
      await until('the memory is taken', { timeoutMs: 30_000 }, async () =>
        held.filter(({ outgoing }) => outgoing.writableLength === 0).length >= 12 ? true : undefined,
      );
      const { outgoing, answered } = startRequest({ ...target, key: newcomer }, { path: CHAT.path, length });
      outgoing.end(body);
      assert.equal(await answered, 200);
      for (const each of held) each.outgoing.destroy();
    },
  },
]);
