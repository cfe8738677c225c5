import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { until } from '../../../../../test/until.ts';
import { CAPABILITIES, getCapabilitySkipReason } from '../../../../../test/capabilities.ts';
import { loadConfig } from '../../../../config/load-config.ts';
import type { RegionId } from '../../../../core/region.ts';
import { createService } from '../../../../service/service.ts';
import type { Service } from '../../../../service/service.ts';

// Deep research is served on one path, as a stream, in one region. All other paths refuse its model.

const MODEL = 'qwen-deep-research';
const GENERATION = '/api/v1/services/aigc/text-generation/generation';
const STREAMED = { 'x-dashscope-sse': 'enable' };
const TIMEOUT = { timeoutMs: 20_000 };

const messages = [{ role: 'user', content: 'Lighthouses' }];

type RefusedRequest = readonly [path: string, fields: object];

const COMPATIBLE: readonly RefusedRequest[] = [
  ['/compatible-mode/v1/chat/completions', { messages }],
  ['/v1/chat/completions', { messages, stream: true }],
  ['/v1/chat/completions', { messages, translation_options: { source_lang: 'auto', target_lang: 'English' } }],
  ['/compatible-mode/v1/completions', { prompt: 'Lighthouses' }],
  ['/v1/completions', { prompt: 'Light', suffix: 's' }],
  ['/compatible-mode/v1/responses', { input: 'Lighthouses' }],
  ['/v1/responses', { input: 'Lighthouses', background: true, store: true }],
  ['/v1/responses', { input: 'Lighthouses', stream: true }],
  ['/api/v2/apps/protocols/compatible-mode/v1/responses', { input: 'Lighthouses' }],
  ['/compatible-mode/v1/responses/input_tokens', { input: 'Lighthouses' }],
  ['/compatible-mode/v1/embeddings', { input: 'Lighthouses' }],
  ['/compatible-api/v1/reranks', { query: 'Lighthouses', documents: ['a'] }],
];

const MESSAGES: readonly RefusedRequest[] = [
  ['/apps/anthropic/v1/messages', { messages, max_tokens: 9 }],
  ['/apps/anthropic/v1/messages', { messages, max_tokens: 9, stream: true }],
  ['/apps/anthropic/v1/messages/count_tokens', { messages }],
];

const NATIVE: readonly RefusedRequest[] = [
  ['/api/v1/services/aigc/multimodal-generation/generation', { input: { messages } }],
  ['/api/v1/services/embeddings/text-embedding/text-embedding', { input: { texts: ['Lighthouses'] } }],
  ['/api/v1/services/rerank/text-rerank/text-rerank', { input: { query: 'Lighthouses', documents: ['a'] } }],
  ['/api/v1/services/audio/asr/transcription', { input: { file_urls: ['https://example.com/a.wav'] } }],
];

/** Error body of the OpenAI-compatible interfaces. */
interface CompatibleErrorBody {
  readonly error: { readonly message: string; readonly type: string; readonly param: string; readonly code: string };
  readonly request_id: string;
}

interface LineAnswer {
  readonly status_code: number;
  readonly body: unknown;
}

describe('deep research model on other paths', { skip: getCapabilitySkipReason('recognition') }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-research-'));
  const callers = new Map<RegionId, { readonly url: string; readonly secret: string }>();
  let service: Service | undefined;

  before(async () => {
    const quiet = () => undefined;
    writeFileSync(join(folder, 'parley.yaml'), 'regions: {cn-beijing: {port: 0}, ap-southeast-1: {port: 0}}\n');
    const env = { PARLEY_DATA: folder, PARLEY_ENGINE_KIND: 'scripted', PARLEY_HUB_URL: 'off' };
    const options = {
      capabilities: CAPABILITIES,
      log: { info: quiet, warn: quiet, error: quiet },
      jobTiming: { renewMs: 50, pollMs: 50 },
    };
    service = await createService(loadConfig({ env }).config, options);
    for (const { region, url } of await service.listen()) {
      const draft = { region, workspace: 'primary', name: '', expiresAt: undefined };
      callers.set(region, { url, secret: (await service.keys.create(draft)).secret });
    }
  });
  after(async () => {
    await service?.close();
    rmSync(folder, { recursive: true });
  });

  const send = async (path: string, init: RequestInit = {}, region: RegionId = 'cn-beijing'): Promise<Response> => {
    const { url, secret } = callers.get(region) ?? assert.fail();
    return await fetch(url + path, { ...init, headers: { ...init.headers, authorization: `Bearer ${secret}` } });
  };
  const post = async (
    path: string,
    fields: object,
    { headers = {}, region }: { readonly headers?: Record<string, string>; readonly region?: RegionId } = {},
  ) => {
    const body = JSON.stringify({ model: MODEL, ...fields });
    const init = { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body };
    const response = await send(path, init, region);
    assert.match(response.headers.get('content-type') ?? '', /^application\/json/);
    return { status: response.status, body: (await response.json()) as unknown };
  };
  const assertCompatibleError = (body: unknown): void => {
    const { error, request_id: id } = body as CompatibleErrorBody;
    const { message, ...rest } = error;
    assert.match(message, /^Unsupported model qwen-deep-research for /);
    assert.deepEqual(rest, { type: 'invalid_request_error', param: 'model', code: 'model_not_supported' });
    assert.ok(id);
  };

  for (const [path, fields] of COMPATIBLE) {
    test(`is refused at ${path} with ${Object.keys(fields).join(', ')}`, async () => {
      const { status, body } = await post(path, fields);
      assert.equal(status, 404);
      assertCompatibleError(body);
    });
  }

  test('is refused for transcriptions, and absent from the compatible model list', async () => {
    const form = new FormData();
    form.append('model', MODEL);
    form.append('file', new Blob(['RIFF']), 'a.wav');
    for (const response of [
      await send('/v1/audio/transcriptions', { method: 'POST', body: form }),
      await send(`/v1/models/${MODEL}`),
    ]) {
      assert.equal(response.status, 404);
      assertCompatibleError(await response.json());
    }
    assert.doesNotMatch(await (await send('/v1/models')).text(), /deep-research/);
  });

  for (const [path, fields] of MESSAGES) {
    test(`is refused at ${path} with ${Object.keys(fields).join(', ')}`, async () => {
      const { status, body } = await post(path, fields);
      assert.equal(status, 404);
      assert.partialDeepStrictEqual(body, { type: 'error', error: { type: 'not_found_error' } });
      assert.match(JSON.stringify(body), /Unsupported model qwen-deep-research for the messages interface/);
    });
  }

  for (const [path, fields] of NATIVE) {
    test(`is refused at ${path}`, async () => {
      const headers = path.endsWith('/transcription') ? { 'x-dashscope-async': 'enable' } : STREAMED;
      const { status, body } = await post(path, fields, { headers });
      assert.equal(status, 404);
      assert.partialDeepStrictEqual(body, { code: 'ModelNotFound' });
      assert.match(JSON.stringify(body), /Unsupported model qwen-deep-research/);
    });
  }

  test('cannot be deployed', async () => {
    for (const name of [MODEL, 'svc-deep-research']) {
      const { status, body } = await post('/api/v1/deployments', { model_name: name, capacity: 1, suffix: 'own' });
      assert.equal(status, 400);
      assert.partialDeepStrictEqual(body, { code: 'UnsupportedOperation' });
      assert.match(JSON.stringify(body), /Model svc-deep-research cannot be deployed: it serves native, research only/);
    }
  });

  test('fails batch lines while the batch completes', async () => {
    const line = (custom_id: string, model: string) =>
      JSON.stringify({ custom_id, method: 'POST', url: '/v1/chat/completions', body: { model, messages } });
    const form = new FormData();
    form.append('purpose', 'batch');
    form.append('file', new Blob([`${line('a', MODEL)}\n${line('b', MODEL)}\n`]), 'in.jsonl');
    const { id: file } = (await (await send('/v1/files', { method: 'POST', body: form })).json()) as { id: string };
    const request = { input_file_id: file, endpoint: '/v1/chat/completions', completion_window: '24h' };
    const { id } = (await post('/v1/batches', request)).body as { id: string };
    const batch = await until('the end of the batch', TIMEOUT, async () => {
      const current = (await (await send(`/v1/batches/${id}`)).json()) as { status: string; error_file_id: string };
      return current.status === 'completed' ? current : undefined;
    });
    assert.partialDeepStrictEqual(batch, { request_counts: { total: 2, completed: 0, failed: 2 } });
    const errors = (await (await send(`/v1/files/${batch.error_file_id}/content`)).text()).trimEnd().split('\n');
    const lines = errors.map((text) => JSON.parse(text) as { custom_id: string; error: object; response: LineAnswer });
    assert.deepEqual(
      lines.map(({ custom_id, response }) => [custom_id, response.status_code]),
      [
        ['a', 404],
        ['b', 404],
      ],
    );
    for (const { error, response } of lines) {
      assertCompatibleError(response.body);
      assert.partialDeepStrictEqual(error, { code: 'model_not_supported' });
    }
  });

  test('is refused in other regions', async () => {
    for (const headers of [STREAMED, {}]) {
      const { status, body } = await post(GENERATION, { input: { messages } }, { headers, region: 'ap-southeast-1' });
      assert.equal(status, 403);
      assert.partialDeepStrictEqual(body, {
        code: 'AccessDenied',
        message:
          'Access denied. The model `qwen-deep-research` is not offered in Singapore (ap-southeast-1); it is offered in China (Beijing) (cn-beijing).',
      });
    }
    const { status, body } = await post('/v1/chat/completions', { messages }, { region: 'ap-southeast-1' });
    assert.equal(status, 404);
    assertCompatibleError(body);
  });

  test('is refused on its own path without streaming, and as an asynchronous task', async () => {
    const plain = await post(GENERATION, { input: { messages } });
    assert.equal(plain.status, 400);
    assert.partialDeepStrictEqual(plain.body, { code: 'InvalidParameter' });
    assert.match(
      JSON.stringify(plain.body),
      /"message":"This model only support stream mode, please enable the stream/,
    );
    const task = await post(GENERATION, { input: { messages } }, { headers: { 'x-dashscope-async': 'enable' } });
    assert.equal(task.status, 403);
    assert.partialDeepStrictEqual(task.body, { code: 'AccessDenied' });
  });

  test('is accepted by the tokenizer', async () => {
    const { status, body } = await post('/api/v1/tokenizer', { input: { prompt: 'Lighthouses' } });
    assert.equal(status, 200);
    assert.partialDeepStrictEqual(body, { usage: { input_tokens: 1 } });
  });
});
