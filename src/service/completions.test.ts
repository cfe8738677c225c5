import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { loadConfig } from '../config/load-config.ts';
import { createService } from './service.ts';
import type { Service } from './service.ts';

const PATH = '/compatible-mode/v1/completions';

type Fields = Readonly<Record<string, unknown>>;

interface Body {
  readonly id: string;
  readonly choices: readonly { readonly text: string; readonly index: number; readonly finish_reason: string | null }[];
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number };
  readonly error?: { readonly message: string; readonly param: string | null; readonly code: string };
  readonly request_id?: string;
}

const says = (...steps: readonly unknown[]): string => `script:${JSON.stringify(steps)}`;

describe('text completion, through the whole service', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-completions-'));
  let service: Service | undefined;
  const at = new Map<string, string>();
  let key = '';

  before(async () => {
    const quiet = () => undefined;
    writeFileSync(join(folder, 'parley.yaml'), 'regions: {cn-beijing: {port: 0}, ap-southeast-1: {port: 0}}\n');
    const env = { PARLEY_DATA: folder, PARLEY_ENGINE_KIND: 'scripted', PARLEY_HUB_URL: 'off' };
    service = await createService(loadConfig({ env }).config, { log: { info: quiet, warn: quiet, error: quiet } });
    for (const { url, region } of await service.listen()) at.set(region, url);
    key = (await service.firstKey())?.secret ?? '';
  });
  after(async () => {
    await service?.close();
    rmSync(folder, { recursive: true });
  });

  const post = (fields: Fields, path = PATH) =>
    fetch((at.get('cn-beijing') ?? '') + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'svc-coder-turbo', ...fields }),
    });
  const ask = async (fields: Fields) => {
    const response = await post(fields);
    const body = (await response.json()) as Body;
    return { status: response.status, headers: response.headers, body, texts: body.choices?.map(({ text }) => text) };
  };
  const refused = async (fields: Fields, param: string, code = 'invalid_parameter_error') => {
    const { status, body } = await ask(fields);
    assert.equal(status, 400, JSON.stringify(body));
    assert.equal(body.error?.param, param);
    assert.equal(body.error.code, code);
    return body.error.message;
  };

  test('continues a prompt', async () => {
    const { body, texts } = await ask({ prompt: says('Hel', 'lo') });
    assert.deepEqual(texts, ['Hello']);
    assert.match(body.id, /^cmpl-[0-9a-f-]{36}$/);
    assert.equal(body.choices[0]?.finish_reason, 'stop');
  });

  test('answers without the first part of its path, and under a name that stands for the model', async () => {
    const response = await post({ model: 'qwen2.5-coder-32b-instruct', prompt: says('a') }, '/v1/completions');
    const body = (await response.json()) as Body & { model: string };
    assert.equal(body.model, 'qwen2.5-coder-32b-instruct');
    assert.equal(body.choices[0]?.text, 'a');
  });

  test('is refused in a region that does not offer it, in words that name one that does', async () => {
    const region = 'ap-southeast-1';
    const draft = { region, workspace: 'primary', name: 'abroad', expiresAt: undefined } as const;
    const { secret } = (await service?.keys.create(draft)) ?? assert.fail();
    const response = await fetch((at.get(region) ?? assert.fail()) + PATH, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'svc-coder-turbo', prompt: says('a') }),
    });
    const { error } = (await response.json()) as Body;
    assert.equal(response.status, 403);
    assert.match(error?.message ?? '', /offered in .*Beijing/i);
  });

  test('fills a gap, by a template or by suffix, and ends where what comes after it is said again', async () => {
    const suffix = '\n    return total\n';
    const prefix = says('x = 1', `\n    return`, ' total\n', { hang: true });
    const byField = await ask({ prompt: prefix, suffix });
    const byTemplate = await ask({ prompt: `<|fim_prefix|>${prefix}<|fim_suffix|>${suffix}<|fim_middle|>` });
    assert.deepEqual(byField.texts, ['x = 1']);
    assert.deepEqual(byTemplate.texts, ['x = 1']);
    assert.equal(byField.body.usage.prompt_tokens, byTemplate.body.usage.prompt_tokens);
  });

  test('answers every prompt of a list n times, numbered in their order, each behind its own echo', async () => {
    const { body } = await ask({ prompt: [says('a'), says('b')], n: 2, echo: true });
    assert.deepEqual(
      body.choices.map(({ text, index }) => [text, index]),
      [
        [`${says('a')}a`, 0],
        [`${says('a')}a`, 1],
        [`${says('b')}b`, 2],
        [`${says('b')}b`, 3],
      ],
    );
    assert.equal(body.usage.completion_tokens, 4);
  });

  test('streams chunks with the same id, then the usage, then the end mark', async () => {
    const response = await post({
      prompt: [says('a', 'b'), says('c')],
      echo: true,
      stream: true,
      stream_options: { include_usage: true },
    });
    assert.equal(response.headers.get('content-type'), 'text/event-stream;charset=UTF-8');
    const text = await response.text();
    const lines = text.split('\n\n').filter((line) => line !== '');
    assert.equal(lines.pop(), 'data: [DONE]');
    const chunks = lines.map((line) => JSON.parse(line.slice('data: '.length)) as Body);
    assert.equal(new Set(chunks.map(({ id }) => id)).size, 1);
    const said = (index: number) =>
      chunks.flatMap(({ choices }) => choices.filter((choice) => choice.index === index).map((choice) => choice.text));
    assert.deepEqual(said(0), [says('a', 'b'), 'a', 'b', '']);
    assert.deepEqual(said(1), [says('c'), 'c', '']);
    assert.equal(chunks.at(-1)?.usage.completion_tokens, 3);
  });

  test('breaks off in mid-stream with an error, and no end mark', async () => {
    const response = await post({ prompt: says('a', { delayMs: 5 }, { fail: 'engine-failed' }), stream: true });
    const text = await response.text();
    assert.match(text, /"error":\{"message":"An internal error/);
    assert.doesNotMatch(text, /\[DONE\]/);
  });

  test('names what it does not honour', async () => {
    const { headers } = await ask({
      prompt: says('a'),
      temperature: 0,
      top_p: 0.5,
      user: 'me',
      wish: 1,
      max_tokens: 100_000,
    });
    assert.equal(headers.get('x-parley-ignored'), 'max_tokens(clamped),top_p,wish');
    const echoed = await ask({ prompt: says('a'), echo: true, logprobs: 0 });
    assert.equal(echoed.headers.get('x-parley-ignored'), 'logprobs(prompt)');
  });

  test('refuses what it cannot complete, naming the field', async () => {
    assert.match(await refused({ prompt: '', suffix: 'x' }, 'prompt'), /^Generating content that precedes/);
    assert.match(await refused({ prompt: '<|fim_prefix|>x' }, 'prompt'), /begins like a template/);
    assert.match(await refused({ prompt: 'a', temperature: 2 }, 'temperature'), /^Temperature should be in/);
    assert.match(await refused({ prompt: 'a '.repeat(40_000) }, 'prompt'), /^Range of input length should be/);
  });

  test('is refused by a model that does not serve it', async () => {
    const { status, body } = await ask({ model: 'svc-plus', prompt: 'a' });
    assert.equal(status, 404);
    assert.equal(body.error?.code, 'model_not_supported');
  });
});
