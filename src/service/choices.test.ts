import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { until } from '../../test/until.ts';
import { registerTestService } from './__fixtures__/register-test-service.ts';

// Tests of more answers (n) than an engine generates at once, over HTTP. Each takes several runs.

type Fields = Readonly<Record<string, unknown>>;

interface Choice extends Fields {
  readonly index?: number;
  readonly finish_reason: string | null;
}

interface Usage extends Fields {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
}

const TIMEOUT = { timeoutMs: 20_000 };
const CHAT = '/v1/chat/completions';
const messages = [{ role: 'user', content: 'Name a color.' }];

describe('more answers than an engine generates at once', () => {
  const { getUrl, getSecret } = registerTestService({
    config: 'regions: {cn-beijing: {port: 0}}\nengine: {sequences: 2}\ndeployments: {capacityMax: 2}\n',
  });
  let key = '';
  before(async () => {
    key = await getSecret();
  });

  const send = (path: string, body?: Fields | FormData, method = body ? 'POST' : 'GET') =>
    fetch(getUrl() + path, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body && !(body instanceof FormData) ? { 'content-type': 'application/json' } : {}),
      },
      ...(body ? { body: body instanceof FormData ? body : JSON.stringify(body) } : {}),
    });
  const post = async <Body>(path: string, body: Fields | FormData): Promise<Body> => {
    const response = await send(path, body);
    const text = await response.text();
    assert.equal(response.status, 200, text);
    return JSON.parse(text) as Body;
  };
  const assertChoices = (choices: readonly Choice[], usage: Usage, single: Usage): void => {
    assert.deepEqual(
      choices.map(({ index }) => index),
      [0, 1, 2],
    );
    assert.ok(choices.every(({ finish_reason }) => finish_reason === 'stop'));
    assert.equal(usage.prompt_tokens, single.prompt_tokens);
    assert.equal(usage.completion_tokens, 3 * single.completion_tokens);
  };
  interface Completion {
    readonly choices: readonly Choice[];
    readonly usage: Usage;
  }

  for (const [name, path, body] of [
    ['chat completions', CHAT, { model: 'svc-plus', messages }],
    ['text completions', '/v1/completions', { model: 'svc-coder-turbo', prompt: 'def f(' }],
  ] as const) {
    test(`come as one answer of ${name}, whose usage counts the prompt once`, async () => {
      const single = await post<Completion>(path, body);
      const { choices, usage } = await post<Completion>(path, { ...body, n: 3 });
      assertChoices(choices, usage, single.usage);
    });

    test(`come as one stream of ${name}`, async () => {
      const single = await post<Completion>(path, body);
      const response = await send(path, { ...body, n: 3, stream: true, stream_options: { include_usage: true } });
      const events = (await response.text()).split('\n\n').filter(Boolean);
      assert.equal(events.pop(), 'data: [DONE]');
      const chunks = events.map((event) => JSON.parse(event.slice('data: '.length)) as Completion & Fields);
      const ends = chunks.flatMap(({ choices }) => choices).filter(({ finish_reason }) => finish_reason !== null);
      assert.equal(new Set(chunks.map(({ id }) => id)).size, 1);
      assertChoices(ends, chunks.at(-1)?.usage ?? assert.fail(), single.usage);
    });
  }

  test('come as one answer of native generation', async () => {
    const body = { model: 'svc-plus', input: { messages }, parameters: { n: 3, result_format: 'message' } };
    const { output } = await post<{ readonly output: { readonly choices: readonly Choice[] } }>(
      '/api/v1/services/aigc/text-generation/generation',
      body,
    );
    assert.deepEqual(
      output.choices.map(({ finish_reason }) => finish_reason),
      ['stop', 'stop', 'stop'],
    );
  });

  test('come from a deployment of capacity 1', async () => {
    await post('/api/v1/deployments', { model_name: 'svc-plus', plan: 'mu', capacity: 1, suffix: 'one' });
    await until('the deployment to run', TIMEOUT, async () => {
      const { output } = (await (await send('/api/v1/deployments/svc-plus-one')).json()) as { readonly output: Fields };
      return output['status'] === 'RUNNING' ? true : undefined;
    });
    const body = { model: 'svc-plus-one', messages };
    const single = await post<Completion>(CHAT, body);
    const { choices, usage } = await post<Completion>(CHAT, { ...body, n: 3 });
    assertChoices(choices, usage, single.usage);
  });

  test('come in a line of a batch', async () => {
    const line = { custom_id: 'a', method: 'POST', url: CHAT, body: { model: 'svc-plus', messages, n: 3 } };
    const form = new FormData();
    form.append('purpose', 'batch');
    form.append('file', new Blob([`${JSON.stringify(line)}\n`]), 'in.jsonl');
    const file = await post<{ readonly id: string }>('/v1/files', form);
    const created = await post<{ readonly id: string }>('/v1/batches', {
      input_file_id: file.id,
      endpoint: CHAT,
      completion_window: '24h',
    });
    const outputFile = await until('the batch to end', TIMEOUT, async () => {
      const batch = (await (await send(`/v1/batches/${created.id}`)).json()) as Fields;
      return batch['status'] === 'completed' ? String(batch['output_file_id']) : undefined;
    });
    const output = await (await send(`/v1/files/${outputFile}/content`)).text();
    const { response } = JSON.parse(output) as { readonly response: { readonly body: Completion } };
    const single = await post<Completion>(CHAT, { model: 'svc-plus', messages });
    assertChoices(response.body.choices, response.body.usage, single.usage);
  });
});
