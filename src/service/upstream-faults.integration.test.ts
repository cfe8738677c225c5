import assert from 'node:assert/strict';
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { after, before, describe, test } from 'node:test';
import { until } from '../../test/until.ts';
import { POOL_FAILURES_IN_ROW_MAX } from '../engines/pool/limits.ts';
import { replyWithStream, startFakeServer } from '../engines/upstream/__fixtures__/fake-server.ts';
import { registerTestService } from './__fixtures__/register-test-service.ts';

/** Returns a port of this machine on which nothing listens. */
async function findClosedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

const createDelta = (content: string) => ({ choices: [{ index: 0, delta: { content } }] });
const FINISH = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
const answer = replyWithStream(createDelta('Hello.'), FINISH);
const continuedAnswer = replyWithStream(createDelta('Hello.'), FINISH, createDelta(' More.'));

const server = await startFakeServer({
  '/v1/chat/completions'(body: unknown, response, request) {
    const { model } = body as { readonly model: string };
    if (model === 'broken') return response.writeHead(502).end('<html>');
    const reply = model === 'endless' ? continuedAnswer : answer;
    return typeof reply === 'function' && reply(body, response, request);
  },
});
after(() => server[Symbol.asyncDispose]());
const deadUrl = `http://127.0.0.1:${await findClosedPort()}/v1`;

const ENDPOINTS = {
  compatible: ['/v1/chat/completions', {}],
  messages: ['/apps/anthropic/v1/messages', { max_tokens: 10 }],
  native: ['/api/v1/services/aigc/text-generation/generation', {}],
} as const;

describe('models on servers that fail', () => {
  const warnings: object[] = [];
  const ignore = (): void => undefined;
  const models = ['works', 'broken', 'endless']
    .map((name) => `  ${name}: {url: '${server.baseUrl}/v1', upstreamModel: ${name}}`)
    .concat(`  dead: {url: '${deadUrl}', upstreamModel: dead}`);
  const { getUrl, getSecret } = registerTestService({
    config: `regions: {cn-beijing: {port: 0}}\nmodels:\n${models.join('\n')}\n`,
    log: { info: ignore, warn: (message, fields) => void warnings.push({ message, ...fields }), error: ignore },
  });
  let key = '';
  before(async () => {
    key = await getSecret();
  });

  const post = async (family: keyof typeof ENDPOINTS, model: string, more: object = {}) => {
    const [path, extra] = ENDPOINTS[family];
    const messages = [{ role: 'user', content: 'Hi' }];
    const body = family === 'native' ? { model, input: { messages } } : { model, messages, ...extra, ...more };
    const response = await fetch(`${getUrl()}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return { status: response.status, text: await response.text(), retryAfter: response.headers.get('retry-after') };
  };

  test('answers 502 while a server is dead, then 503 with Retry-After, in each protocol', async () => {
    for (const family of ['compatible', 'messages', 'native'] as const) {
      const { status, text } = await post(family, 'dead');
      assert.equal(status, 502, text);
    }
    // While the address is known to be dead, a few requests still test it.
    const refused = await until('a refusal without an attempt', { timeoutMs: 30_000 }, async () => {
      const response = await post('messages', 'dead');
      return response.status === 503 ? response : undefined;
    });
    assert.match(refused.retryAfter ?? '', /^\d+$/);
  });

  test('keeps a model in use while another one on the same server fails', async () => {
    for (let at = 0; at < 2 * POOL_FAILURES_IN_ROW_MAX; at++) {
      const { status } = await post('compatible', 'broken');
      assert.ok(status === 502 || (status === 503 && at >= POOL_FAILURES_IN_ROW_MAX), `attempt ${at}: ${status}`);
      assert.equal((await post('compatible', 'works')).status, 200);
    }
    const opened = warnings.filter(
      (line) => 'message' in line && line.message === 'upstream address disabled after failures',
    );
    assert.deepEqual(new Set(opened.map((line) => 'model' in line && line.model)), new Set(['dead', 'broken']));
  });

  test('ends a stream without an error when the server goes on after the finish reason', async () => {
    const { text } = await post('compatible', 'endless', { stream: true });
    assert.match(text, /"content":"Hello\."/);
    assert.doesNotMatch(text, /More|error/);
    assert.match(text, /"finish_reason":"stop"[\s\S]*data: \[DONE\]/);
  });
});
