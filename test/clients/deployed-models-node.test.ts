import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI, { InternalServerError, NotFoundError, RateLimitError } from 'openai';
import { until } from '../until.ts';
import { type Parley, startParley } from './harness.ts';
import { encodeScript } from './engine-script.ts';

const WAIT = { timeoutMs: 90_000 };
const HELLO = [{ role: 'user' as const, content: encodeScript('Hel', 'lo') }];
const CONFIG =
  'models: {all: {path: /nowhere/all.gguf, interfaces: [chat, messages, responses, completions, native, embeddings]}}';

describe('deployed models with the clients for Node', () => {
  let parley: Parley;
  let openai: OpenAI;
  let anthropic: Anthropic;
  before(async () => {
    parley = await startParley({ engine: 'scripted', config: CONFIG });
    const { baseUrl: baseURL, key: apiKey, address } = parley;
    const options = { apiKey, maxRetries: 0, timeout: 60_000 };
    openai = new OpenAI({ ...options, baseURL });
    anthropic = new Anthropic({ ...options, baseURL: `${address}/apps/anthropic`, authToken: null });
  });
  after(() => parley?.stop());

  const callDeployments = async (
    method: string,
    path: string,
    body?: object,
  ): Promise<Readonly<Record<string, unknown>>> => {
    const response = await fetch(`${parley.address}/api/v1/deployments${path}`, {
      method,
      headers: { authorization: `Bearer ${parley.key}`, 'content-type': 'application/json' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    assert.equal(response.status, 200);
    return ((await response.json()) as { readonly output: Readonly<Record<string, unknown>> }).output;
  };
  const waitForStatus = (name: string, status: string) =>
    until(`${name} ${status}`, WAIT, async () =>
      (await callDeployments('GET', `/${name}`))['status'] === status ? true : undefined,
    );
  const deploy = async (suffix: string, fields: object = { plan: 'mu', capacity: 2 }): Promise<string> => {
    await callDeployments('POST', '', { model_name: 'all', suffix, ...fields });
    await waitForStatus(`all-${suffix}`, 'RUNNING');
    return `all-${suffix}`;
  };

  test('give answers, streams and vectors to the openai client, and appear in its model list', async () => {
    const model = await deploy('openai');
    const answer = await openai.chat.completions.create({ model, messages: HELLO });
    assert.deepEqual([answer.model, answer.choices[0]?.message.content], [model, 'Hello']);
    const chunks = await Array.fromAsync(
      await openai.chat.completions.create({ model, messages: HELLO, stream: true }),
    );
    assert.equal(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join(''), 'Hello');
    assert.deepEqual(new Set(chunks.map((chunk) => chunk.model)), new Set([model]));
    const vectors = await openai.embeddings.create({ model, input: ['one', 'two'] });
    assert.deepEqual([vectors.model, vectors.data.length], [model, 2]);
    const response = await openai.responses.create({ model, input: encodeScript('Hel', 'lo') });
    assert.deepEqual([response.model, response.output_text], [model, 'Hello']);
    const names = (await Array.fromAsync(openai.models.list())).map(({ id }) => id);
    assert.ok(names.includes(model), String(names));
  });

  test('give answers, streams and token counts to the anthropic client', async () => {
    const model = await deploy('claude', {
      plan: 'ptu',
      ptu_capacity: { input_tpm: 600, output_tpm: 600, thinking_output_tpm: 0 },
    });
    const params = { model, max_tokens: 16, messages: HELLO };
    const answer = await anthropic.messages.create(params);
    assert.deepEqual(
      [answer.model, answer.content.map((block) => ('text' in block ? block.text : ''))],
      [model, ['Hello']],
    );
    assert.equal(await anthropic.messages.stream(params).finalText(), 'Hello');
    const { input_tokens: inputTokens } = await anthropic.messages.countTokens({ model, messages: HELLO });
    assert.equal(inputTokens, answer.usage.input_tokens);
  });

  test('are refused with the error classes of the openai client', async () => {
    const model = await deploy('refused');
    const callModel = () => openai.chat.completions.create({ model, messages: HELLO });
    await callDeployments('PUT', `/${model}`, { rpm_limit: 1 });
    await callModel();
    await assert.rejects(callModel(), (error) => {
      assert.ok(error instanceof RateLimitError);
      assert.match(error.message, /rpm_limit: deployment all-refused has 1 requests/);
      return true;
    });
    await callDeployments('PUT', `/${model}/scale`, { capacity: 0 });
    await waitForStatus(model, 'STOPPED');
    await assert.rejects(callModel(), (error) => {
      assert.ok(error instanceof InternalServerError);
      assert.deepEqual([error.status, error.headers.get('retry-after')], [503, '60']);
      assert.match(error.message, /Deployment all-refused cannot serve calls: its status is STOPPED/);
      return true;
    });
    await callDeployments('DELETE', `/${model}`);
    await until('the deployment is deleted', WAIT, async () =>
      callModel().then(
        () => assert.fail('a deleted deployment answered'),
        (error: unknown) => (error instanceof NotFoundError ? true : undefined),
      ),
    );
  });
});
