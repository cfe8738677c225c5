// A thread that plays another workspace: it calls the service again and again and measures how long each call takes. In a
// thread of its own, so that the work of the attacker delays no measurement.
import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { setInterval } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';

export interface OthersOptions {
  readonly address: string;
  readonly key: string;
}

/** Sent to the thread: when an attack starts, and when it has ended; `exit` at the end. */
export type OthersCommand = 'start' | 'end' | 'exit';

/** Sent once, after the first call of each kind: `ready`; at the end of each attack, the measurements. */
export type OthersMessage = { readonly type: 'ready' } | { readonly type: 'end'; readonly measured: Measured };

export interface Measured {
  /** Durations in ms. A call of another status than 200, or without an answer, is in `failures`. */
  readonly models: readonly number[];
  readonly chat: readonly number[];
  readonly failures: readonly string[];
}

/** Time in ms between the starts of two calls of a kind during an attack, if the first is answered by then. */
const PERIOD_MS = 10;

/** Calls of each kind at least, so that the 99th percentile is not the slowest call. After the attack, without pauses. */
const CALLS_MIN = 101;

/** Time in ms after which a call counts as unanswered. */
const CALL_MS_MAX = 30_000;

const { address, key } = workerData as OthersOptions;
const port = parentPort ?? assert.fail('runs as a thread');

/** One connection is kept, as a client library does; the other calls open one each. */
const agents = { models: new Agent({ keepAlive: false }), chat: new Agent({ keepAlive: true, maxSockets: 1 }) };

const CHAT_BODY = JSON.stringify({
  model: 'svc-plus',
  max_tokens: 1,
  messages: [{ role: 'user', content: 'script:["a"]' }],
});

let failures: string[] = [];
let isAttacked = false;

async function call(kind: 'models' | 'chat'): Promise<number> {
  const startedAt = performance.now();
  const headers = { authorization: `Bearer ${key}`, ...(kind === 'chat' && { 'content-type': 'application/json' }) };
  const options = { agent: agents[kind], headers, method: kind === 'chat' ? 'POST' : 'GET', timeout: CALL_MS_MAX };
  const path = kind === 'chat' ? '/v1/chat/completions' : '/v1/models';
  await new Promise<void>((resolve) => {
    const fail = (reason: string): void => {
      failures.push(`${kind}: ${reason}`);
      resolve();
    };
    const outgoing = request(`${address}${path}`, options, (response) => {
      const pieces: Buffer[] = [];
      response
        .on('data', (piece: Buffer) => pieces.push(piece))
        .on('error', (error) => fail(error.message))
        .on('end', () => {
          if (response.statusCode === 200) resolve();
          else fail(`${response.statusCode} ${Buffer.concat(pieces).toString().slice(0, 300)}`);
        });
    });
    outgoing.on('error', (error) => fail(error.message));
    outgoing.on('timeout', () => outgoing.destroy(new Error(`no answer within ${CALL_MS_MAX} ms`)));
    outgoing.end(kind === 'chat' ? CHAT_BODY : undefined);
  });
  return performance.now() - startedAt;
}

async function callRepeatedly(kind: 'models' | 'chat'): Promise<readonly number[]> {
  const durations: number[] = [];
  const ticks = setInterval(PERIOD_MS)[Symbol.asyncIterator]();
  while (isAttacked || durations.length < CALLS_MIN) {
    if (isAttacked) await ticks.next();
    durations.push(await call(kind));
  }
  await ticks.return?.();
  return durations;
}

async function measure(): Promise<void> {
  failures = [];
  const [models, chat] = await Promise.all([callRepeatedly('models'), callRepeatedly('chat')]);
  port.postMessage({ type: 'end', measured: { models, chat, failures } } satisfies OthersMessage);
}

// The first calls load modules and compile functions.
await call('models');
await call('chat');
port.on('message', (command: OthersCommand) => {
  isAttacked = command === 'start';
  if (command === 'start') void measure();
  if (command !== 'exit') return;
  port.close();
  agents.chat.destroy();
});
port.postMessage({ type: 'ready' } satisfies OthersMessage);
