import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { loadConfig } from '../config/load-config.ts';
import { createService } from './service.ts';
import type { Service } from './service.ts';

// Deep research is served on one path; on each other one its model is refused as one that is not for it.

const STREAMED = { 'x-dashscope-sse': 'enable' };

const messages = [{ role: 'user', content: 'Lighthouses' }];

const COMPATIBLE: Readonly<Record<string, object>> = {
  '/compatible-mode/v1/chat/completions': { messages },
  '/v1/chat/completions': { messages, stream: true },
  '/compatible-mode/v1/completions': { prompt: 'Lighthouses' },
  '/compatible-mode/v1/responses': { input: 'Lighthouses' },
  '/v1/responses': { input: 'Lighthouses', background: true, store: true },
  '/compatible-mode/v1/responses/input_tokens': { input: 'Lighthouses' },
  '/compatible-mode/v1/embeddings': { input: 'Lighthouses' },
  '/compatible-api/v1/reranks': { query: 'Lighthouses', documents: ['a'] },
};

const MESSAGES: Readonly<Record<string, object>> = {
  '/apps/anthropic/v1/messages': { messages, max_tokens: 9 },
  '/apps/anthropic/v1/messages/count_tokens': { messages },
};

const NATIVE: Readonly<Record<string, object>> = {
  '/api/v1/services/aigc/multimodal-generation/generation': { input: { messages } },
  '/api/v1/services/embeddings/text-embedding/text-embedding': { input: { texts: ['Lighthouses'] } },
  '/api/v1/services/rerank/text-rerank/text-rerank': { input: { query: 'Lighthouses', documents: ['a'] } },
  '/api/v1/services/audio/asr/transcription': { input: { file_urls: ['https://example.com/a.wav'] } },
};

describe('a deep research model', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-research-'));
  let service: Service | undefined;
  let url = '';
  let key = '';

  before(async () => {
    const quiet = () => undefined;
    const env = { PARLEY_DATA: folder, PARLEY_PORT: '0', PARLEY_ENGINE_KIND: 'scripted', PARLEY_HUB_URL: 'off' };
    service = await createService(loadConfig({ env }).config, { log: { info: quiet, warn: quiet, error: quiet } });
    const [address] = await service.listen();
    url = address?.url ?? '';
    key = (await service.firstKey())?.secret ?? '';
  });
  after(async () => {
    await service?.close();
    rmSync(folder, { recursive: true });
  });

  const post = async (path: string, fields: object, headers: Readonly<Record<string, string>> = {}) => {
    const response = await fetch(url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ model: 'qwen-deep-research', ...fields }),
    });
    return { status: response.status, body: (await response.json()) as unknown };
  };

  for (const [path, fields] of Object.entries(COMPATIBLE)) {
    test(`is refused at ${path}`, async () => {
      const { status, body } = await post(path, fields);
      assert.equal(status, 404);
      assert.partialDeepStrictEqual(body, { error: { code: 'model_not_supported', param: 'model' } });
    });
  }

  for (const [path, fields] of Object.entries(MESSAGES)) {
    test(`is refused at ${path}`, async () => {
      const { status, body } = await post(path, fields);
      assert.equal(status, 404);
      assert.partialDeepStrictEqual(body, { type: 'error', error: { type: 'not_found_error' } });
    });
  }

  for (const [path, fields] of Object.entries(NATIVE)) {
    test(`is refused at ${path}`, async () => {
      const headers = path.endsWith('/transcription') ? { 'x-dashscope-async': 'enable' } : STREAMED;
      const { status, body } = await post(path, fields, headers);
      assert.equal(status, 404);
      assert.partialDeepStrictEqual(body, { code: 'ModelNotFound' });
      assert.match(JSON.stringify(body), /Unsupported model qwen-deep-research/);
    });
  }
});
