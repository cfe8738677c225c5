import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI, { InternalServerError, NotFoundError, RateLimitError } from 'openai';
import { until } from '../until.ts';
import { type Parley, startParley } from './harness.ts';
import { says } from './script.ts';

const PATIENCE = { withinMs: 90_000 };
const HELLO = [{ role: 'user' as const, content: says('Hel', 'lo') }];
const CONFIG =
  'models: {all: {path: /nowhere/all.gguf, interfaces: [chat, messages, responses, completions, native, embeddings]}}';

describe('deployed models with the clients for Node', () => {
  let parley: Parley;
  let compatible: OpenAI;
  let messages: Anthropic;
  before(async () => {
    parley = await startParley({ engine: 'scripted', config: CONFIG });
    const { baseUrl: baseURL, key: apiKey, address } = parley;
    const options = { apiKey, maxRetries: 0, timeout: 60_000 };
    compatible = new OpenAI({ ...options, baseURL });
    messages = new Anthropic({ ...options, baseURL: `${address}/apps/anthropic`, authToken: null });
  });
  after(() => parley?.stop());

  const manage = async (method: string, path: string, body?: object): Promise<Readonly<Record<string, unknown>>> => {
    const response = await fetch(`${parley.address}/api/v1/deployments${path}`, {
      method,
      headers: { authorization: `Bearer ${parley.key}`, 'content-type': 'application/json' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    assert.equal(response.status, 200);
    return ((await response.json()) as { readonly output: Readonly<Record<string, unknown>> }).output;
  };
  const settled = (name: string, status: string) =>
    until(`${name} ${status}`, PATIENCE, async () =>
      (await manage('GET', `/${name}`))['status'] === status ? true : undefined,
    );
  const deploy = async (suffix: string, more: object = { plan: 'mu', capacity: 2 }): Promise<string> => {
    await manage('POST', '', { model_name: 'all', suffix, ...more });
    await settled(`all-${suffix}`, 'RUNNING');
    return `all-${suffix}`;
  };

  test('openai: answers, streams, vectors and the list of models', async () => {
    const model = await deploy('openai');
    const answer = await compatible.chat.completions.create({ model, messages: HELLO });
    assert.deepEqual([answer.model, answer.choices[0]?.message.content], [model, 'Hello']);
    const chunks = await Array.fromAsync(
      await compatible.chat.completions.create({ model, messages: HELLO, stream: true }),
    );
    assert.equal(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join(''), 'Hello');
    assert.deepEqual(new Set(chunks.map((chunk) => chunk.model)), new Set([model]));
    const vectors = await compatible.embeddings.create({ model, input: ['one', 'two'] });
    assert.deepEqual([vectors.model, vectors.data.length], [model, 2]);
    const response = await compatible.responses.create({ model, input: says('Hel', 'lo') });
    assert.deepEqual([response.model, response.output_text], [model, 'Hello']);
    const names = (await Array.fromAsync(compatible.models.list())).map(({ id }) => id);
    assert.ok(names.includes(model), String(names));
  });

  test('anthropic: answers, streams and counts', async () => {
    const model = await deploy('claude', {
      plan: 'ptu',
      ptu_capacity: { input_tpm: 600, output_tpm: 600, thinking_output_tpm: 0 },
    });
    const asked = { model, max_tokens: 16, messages: HELLO };
    const answer = await messages.messages.create(asked);
    assert.deepEqual(
      [answer.model, answer.content.map((block) => ('text' in block ? block.text : ''))],
      [model, ['Hello']],
    );
    assert.equal(await messages.messages.stream(asked).finalText(), 'Hello');
    const { input_tokens: counted } = await messages.messages.countTokens({ model, messages: HELLO });
    assert.equal(counted, answer.usage.input_tokens);
  });

  test('openai: refusals that it knows by their kinds', async () => {
    const model = await deploy('refused');
    const ask = () => compatible.chat.completions.create({ model, messages: HELLO });
    await manage('PUT', `/${model}`, { rpm_limit: 1 });
    await ask();
    await assert.rejects(ask(), (error) => {
      assert.ok(error instanceof RateLimitError);
      assert.match(error.message, /rpm_limit: deployment all-refused has 1 requests/);
      return true;
    });
    await manage('PUT', `/${model}/scale`, { capacity: 0 });
    await settled(model, 'STOPPED');
    await assert.rejects(ask(), (error) => {
      assert.ok(error instanceof InternalServerError);
      assert.deepEqual([error.status, error.headers.get('retry-after')], [503, '60']);
      assert.match(error.message, /Deployment all-refused serves no calls: its status is STOPPED/);
      return true;
    });
    await manage('DELETE', `/${model}`);
    await until('the end of it', PATIENCE, async () =>
      ask().then(
        () => assert.fail('it is deleted'),
        (error: unknown) => (error instanceof NotFoundError ? true : undefined),
      ),
    );
  });
});
