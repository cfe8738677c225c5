import assert from 'node:assert/strict';
import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after } from 'node:test';
import { until } from '../until.ts';
import { sendAsAttacker, uploadAsAttacker } from './attacker-request.ts';
import { type AttackTarget, describeAttacks } from './harness.ts';

// Callbacks of batches, which go to URLs that callers name.

const MIB = 1024 * 1024;

/** The one address that the operator allows besides public ones. Callers have their receivers there. */
const RECEIVER_ADDRESS = '127.0.0.3';

/** Time in which the callbacks of an attack, or that of another workspace, must be sent, in ms. The machine may be busy. */
const CALLBACK_MS_MAX = 45_000;

/** Callbacks that no receiver answers. Each one occupies a job for 15 s. */
const SLOW_BATCHES = 20;

const ENDLESS_BATCHES = 10;

/** Bytes of an endless answer that a receiver can send until its connection is closed: buffers of the system. */
const SENT_BYTES_MAX = 16 * MIB;

const REDIRECTS = [301, 302, 303, 307, 308];

/** Paths that were requested from a server in the operator's own network. */
const requestedPaths: string[] = [];

/** Paths that receivers were asked for. */
const receivedPaths: string[] = [];

/** Bytes that each endless answer sent until its connection was closed. */
const endlessAnswers: number[] = [];

async function listen(address: string, listener: RequestListener): Promise<number> {
  const server = createServer(listener);
  await new Promise<void>((listening) => server.listen(0, address, listening));
  after(() => server.close().closeAllConnections());
  return (server.address() as AddressInfo).port;
}

function answerWithoutEnd(response: ServerResponse): void {
  let sentBytes = 0;
  const writeMore = (): void => {
    while (!response.destroyed) {
      sentBytes += MIB;
      if (!response.write(Buffer.alloc(MIB))) break;
    }
  };
  response.on('drain', writeMore).on('close', () => endlessAnswers.push(sentBytes));
  writeMore();
}

const operatorPort = await listen('127.0.0.1', (request, response) => {
  requestedPaths.push(request.url ?? '');
  response.end();
});
const receiverPort = await listen(RECEIVER_ADDRESS, (request, response) => {
  const path = request.url ?? '';
  receivedPaths.push(path);
  const [, status] = /^\/redirect-(\d+)$/.exec(path) ?? [];
  if (status) response.writeHead(Number(status), { location: `http://127.0.0.1:${operatorPort}/secret` }).end();
  else if (path === '/endless') answerWithoutEnd(response.writeHead(200));
  else if (path !== '/hang') response.end();
});

const receiver = (path: string): string => `http://${RECEIVER_ADDRESS}:${receiverPort}${path}`;
const countReceived = (path: string): number => receivedPaths.filter((each) => each === path).length;

const FORBIDDEN_URLS = [
  `http://127.0.0.1:${operatorPort}/secret`,
  `http://localhost:${operatorPort}/secret`,
  `http://[::ffff:127.0.0.1]:${operatorPort}/secret`,
  `http://2130706433:${operatorPort}/secret`,
  `http://0x7f.1:${operatorPort}/secret`,
  `http:127.0.0.1:${operatorPort}/secret`,
  'http://169.254.169.254/latest/meta-data/',
  'http://10.0.0.1/hook',
  'https://[fe80::1]/hook',
];

const INVALID_URLS = ['file:///etc/passwd', 'gopher://127.0.0.1/', '/etc/passwd', 'http://'];

/** Uploads the input of batches, one request, and returns the id of the file. */
async function uploadInput(target: AttackTarget): Promise<string> {
  const body = { model: 'svc-plus', max_tokens: 1, messages: [{ role: 'user', content: 'script:["a"]' }] };
  const line = JSON.stringify({ custom_id: 'a', method: 'POST', url: '/v1/chat/completions', body });
  const fields = { purpose: 'batch' };
  const { status, text } = await uploadAsAttacker(target, { fields, fileName: 'in.jsonl', bytes: Buffer.from(line) });
  assert.equal(status, 200, text);
  return (JSON.parse(text) as { readonly id: string }).id;
}

/** Creates a batch for each callback, and asserts the status of the responses. */
async function createBatches(target: AttackTarget, callbacks: readonly string[], expectedStatus = 200): Promise<void> {
  const input = {
    input_file_id: await uploadInput(target),
    endpoint: '/v1/chat/completions',
    completion_window: '24h',
  };
  for (const callback of callbacks) {
    const body = JSON.stringify({ ...input, metadata: { ds_batch_finish_callback: callback } });
    const { status, text } = await sendAsAttacker(target, { path: '/compatible-mode/v1/batches', body });
    assert.equal(status, expectedStatus, `${callback}: ${text}`);
  }
}

const waitFor = (description: string, isTrue: () => boolean): Promise<true> =>
  until(description, { timeoutMs: CALLBACK_MS_MAX }, async () => isTrue() || undefined);

describeAttacks('attacks with callbacks of batches', { config: `callbacks: { allow: [${RECEIVER_ADDRESS}] }\n` }, [
  {
    name: 'batches whose callbacks go to 9 URLs in the network of the operator, or are redirected there',
    async run(target) {
      await createBatches(target, INVALID_URLS, 400);
      const urls = [...FORBIDDEN_URLS, ...REDIRECTS.map((status) => receiver(`/redirect-${status}`))];
      await createBatches(target, urls);
      const countFailures = (): number => target.parley.output().match(/job failed and will be retried/g)?.length ?? 0;
      await waitFor('each callback fails once', () => countFailures() >= urls.length);
      assert.deepEqual(
        receivedPaths.toSorted(),
        REDIRECTS.map((status) => `/redirect-${status}`),
      );
      assert.deepEqual(requestedPaths, []);
    },
  },
  {
    name: '10 batches whose callbacks are answered without end',
    async run(target) {
      await createBatches(
        target,
        Array.from({ length: ENDLESS_BATCHES }, () => receiver('/endless')),
      );
      await waitFor('the endless answers are closed', () => endlessAnswers.length === ENDLESS_BATCHES);
      assert.ok(Math.max(...endlessAnswers) <= SENT_BYTES_MAX, `${Math.max(...endlessAnswers)} bytes`);
    },
  },
  {
    name: '20 batches whose callbacks are never answered, before a callback of another workspace',
    async run(target) {
      const key = await target.createKey('--workspace', 'third');
      await createBatches(
        target,
        Array.from({ length: SLOW_BATCHES }, () => receiver('/hang')),
      );
      await waitFor('callbacks hang', () => countReceived('/hang') >= 4);
      await createBatches({ ...target, key }, [receiver('/quick')]);
      await waitFor('the callback of another workspace is sent', () => countReceived('/quick') === 1);
      assert.ok(countReceived('/hang') < SLOW_BATCHES, 'the others still wait');
    },
  },
]);
