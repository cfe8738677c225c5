import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { loadConfig } from '../config/load-config.ts';
import { createService, type Service } from './service.ts';

type Fields = Readonly<Record<string, unknown>>;

/** The fields of a batch that these tests check. */
interface Batch extends Fields {
  readonly id: string;
  readonly status: string;
  readonly output_file_id: string | null;
  readonly error_file_id: string | null;
  readonly request_counts: { readonly total: number; readonly completed: number; readonly failed: number };
}

interface Line {
  readonly id: string;
  readonly custom_id: string | null;
  readonly response: {
    readonly status_code: number;
    readonly request_id: string;
    readonly body: Fields;
    readonly headers?: Fields;
  } | null;
  readonly error: { readonly code: string; readonly message: string; readonly line?: number } | null;
}

const CHAT = '/v1/chat/completions';
const FINAL_STATUSES = ['completed', 'failed', 'expired', 'cancelled'];
/** Generous, because the machine may be busy. */
const TIMEOUT_MS = 30_000;

describe('batch execution in the complete service', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-batch-work-'));
  const logLines: Fields[] = [];
  let service: Service | undefined;
  let url = '';
  let clockOffsetMs = 0;

  before(async () => {
    const quiet = () => undefined;
    const env = {
      PARLEY_DATA: folder,
      PARLEY_PORT: '0',
      PARLEY_ENGINE_KIND: 'scripted',
      PARLEY_HUB_URL: 'off',
      PARLEY_ENGINE_SEQUENCES: '64',
      PARLEY_LIMITS_BODY_BYTES_MAX: '4000',
      PARLEY_CALLBACKS_ALLOW: '127.0.0.1',
    };
    const log = {
      info: (_: string, logFields: Fields = {}) => void logLines.push(logFields),
      warn: quiet,
      error: quiet,
    };
    const clock = { now: () => Date.now() + clockOffsetMs, monotonic: () => performance.now() };
    const jobTiming = { renewMs: 50, pollMs: 50 };
    service = await createService(loadConfig({ env }).config, { log, clock, jobTiming });
    [{ url } = { url: '' }] = await service.listen();
  });
  after(async () => {
    await service?.close();
    rmSync(folder, { recursive: true });
  });

  const keys = new Map<string, { readonly id: string; readonly secret: string }>();
  const getKey = async (workspace: string) => {
    const draft = { region: 'cn-beijing', workspace, name: '', expiresAt: undefined } as const;
    const key = keys.get(workspace) ?? (await service?.keys.create(draft));
    assert.ok(key);
    const ownKey = { id: 'record' in key ? key.record.id : key.id, secret: key.secret };
    keys.set(workspace, ownKey);
    return ownKey;
  };
  const call = async (workspace: string, method: string, path: string, body?: FormData | object) => {
    const { secret } = await getKey(workspace);
    const isForm = body instanceof FormData;
    return await fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${secret}`, ...(isForm ? {} : { 'content-type': 'application/json' }) },
      ...(body ? { body: isForm ? body : JSON.stringify(body) } : {}),
    });
  };
  const create = async (
    workspace: string,
    lines: readonly (object | string)[],
    overrides: object = {},
  ): Promise<Batch> => {
    const form = new FormData();
    form.append('purpose', 'batch');
    const text = lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join('');
    form.append('file', new Blob([text]), 'in.jsonl');
    const { id } = (await (await call(workspace, 'POST', '/v1/files', form)).json()) as { id: string };
    const batchRequest = { input_file_id: id, endpoint: CHAT, completion_window: '24h', ...overrides };
    const answer = await call(workspace, 'POST', '/v1/batches', batchRequest);
    assert.equal(answer.status, 200, await answer.clone().text());
    return (await answer.json()) as Batch;
  };
  const get = async (workspace: string, id: string): Promise<Batch> =>
    (await (await call(workspace, 'GET', `/v1/batches/${id}`)).json()) as Batch;
  const waitForBatch = async (
    workspace: string,
    { id }: Batch,
    isReached: (batch: Batch) => boolean,
  ): Promise<Batch> => {
    const startedAt = performance.now();
    for (;;) {
      const batch = await get(workspace, id);
      if (isReached(batch)) return batch;
      assert.ok(performance.now() - startedAt < TIMEOUT_MS, JSON.stringify(batch));
    }
  };
  const waitForEnd = (workspace: string, batch: Batch): Promise<Batch> =>
    waitForBatch(workspace, batch, ({ status }) => FINAL_STATUSES.includes(status));
  const readLines = async (workspace: string, id: string | null): Promise<readonly Line[]> => {
    if (id === null) return [];
    const text = await (await call(workspace, 'GET', `/v1/files/${id}/content`)).text();
    assert.ok(text.endsWith('\n'));
    return text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Line);
  };
  const line = (custom_id: string, content: string, body: object = {}) => ({
    custom_id,
    method: 'POST',
    url: CHAT,
    body: { model: 'svc-plus', messages: [{ role: 'user', content }], ...body },
  });
  const counts = (total: number, completed: number) => ({ total, completed, failed: total - completed });

  test('writes one response for each line, in input order, like a live request', async () => {
    const names = Array.from({ length: 50 }, (_, index) => `n${index}`);
    const extraFields = { nobody_knows_this: 1 };
    const made = await create(
      'good',
      names.map((name) => line(name, name, name === 'n7' ? extraFields : {})),
    );
    assert.deepEqual([made.status, made.request_counts], ['validating', counts(0, 0)]);
    const batch = await waitForEnd('good', made);
    assert.deepEqual([batch.status, batch.request_counts], ['completed', counts(50, 50)]);
    assert.deepEqual([batch.error_file_id, batch['errors']], [null, null]);
    assert.match(batch.output_file_id ?? '', /^file-batch_output-/);
    const lines = await readLines('good', batch.output_file_id);
    assert.deepEqual(
      lines.map(({ custom_id }) => custom_id),
      names,
    );
    const answer = await call('good', 'POST', CHAT, line('', 'n7', extraFields).body);
    const live = (await answer.json()) as Fields;
    const { id, custom_id, response, error } = lines[7] ?? assert.fail();
    assert.deepEqual([custom_id, error, response?.status_code], ['n7', null, 200]);
    assert.equal(response?.request_id, id);
    assert.deepEqual(response.headers, { 'x-parley-ignored': answer.headers.get('x-parley-ignored') });
    assert.equal(lines[8]?.response?.headers, undefined);
    const { id: chatId, created, ...rest } = response.body;
    assert.deepEqual([typeof chatId, typeof created], ['string', 'number']);
    const { id: _id, created: _created, ...liveRest } = live;
    assert.deepEqual(rest, liveRest);
    const lineLogs = logLines.filter(
      (logFields) => logFields['batch'] === batch.id && logFields['operation'] !== undefined,
    );
    assert.equal(lineLogs.length, 50);
    assert.equal(lineLogs[0]?.['operation'], 'chat-completions.create');
    assert.equal(lineLogs[0]?.['workspace'], 'good');
  });

  test('handles a search in a line like in a live request', async () => {
    const searching = { enable_search: true, search_options: { forced_search: true } };
    const batch = await waitForEnd(
      'search',
      await create('search', [line('a', 'Who wrote it?', searching), line('b', 'Who wrote it?')]),
    );
    assert.deepEqual(batch.request_counts, counts(2, 2));
    // There is nothing to search: the line names the search, and the scripted engine repeats its prompt.
    const [searched, plain] = (await readLines('search', batch.output_file_id)).map(({ response }) => response);
    assert.deepEqual(searched?.headers, { 'x-parley-ignored': 'enable_search' });
    assert.equal(plain?.headers, undefined);
    for (const answer of [searched, plain]) assert.match(JSON.stringify(answer?.body), /You said: Who wrote it\?/);
  });

  test('writes invalid lines to the error file in input order, and runs the others', async () => {
    const batch = await waitForEnd(
      'bad-lines',
      await create('bad-lines', [
        line('a', 'x'),
        'no JSON',
        line('a', 'x'),
        { ...line('b', 'x'), method: 'GET' },
        { ...line('c', 'x'), url: '/v1/chat/completion' },
        line('d', 'x', { model: 'no-such-model' }),
        line('e', 'x', { model: 'svc-turbo' }),
        line('f', 'x', { stream: true }),
        line('g', 'x', { temperature: 7 }),
        line('h', 'x'.repeat(5_000)),
        line('i', 'script:[{"fail":"engine-failed"}]'),
        '',
        line('j', 'x'),
      ]),
    );
    assert.deepEqual([batch.status, batch.request_counts], ['completed', counts(12, 2)]);
    const output = await readLines('bad-lines', batch.output_file_id);
    assert.deepEqual(
      output.map(({ custom_id }) => custom_id),
      ['a', 'j'],
    );
    const errors = await readLines('bad-lines', batch.error_file_id);
    assert.deepEqual(
      errors.map(({ custom_id, response, error }) => [custom_id, response?.status_code, error?.code, error?.line]),
      [
        [null, undefined, 'invalid_json_line', 2],
        ['a', undefined, 'duplicate_custom_id', 3],
        ['b', undefined, 'invalid_method', 4],
        ['c', undefined, 'url_not_found', 5],
        ['d', undefined, 'model_not_found', 6],
        ['e', undefined, 'mismatched_model', 7],
        ['f', undefined, 'invalid_parameter_error', 8],
        ['g', 400, 'invalid_parameter_error', undefined],
        ['h', 413, 'request_too_large', undefined],
        ['i', 500, 'internal_error', undefined],
      ],
    );
    const [refused] = errors.filter(({ custom_id }) => custom_id === 'g');
    const batchBody = (refused?.response?.body ?? {}) as Fields & {
      error: { message: string; code: string; param: string };
    };
    const { error: bodyError } = batchBody;
    assert.deepEqual([bodyError.code, bodyError.param], ['invalid_parameter_error', 'temperature']);
    assert.equal(refused?.error?.message, bodyError.message);
    const live = await call('bad-lines', 'POST', CHAT, line('', 'x', { temperature: 7 }).body);
    const liveBody = (await live.json()) as Fields;
    assert.deepEqual({ ...batchBody, request_id: '' }, { ...liveBody, request_id: '' });
    assert.equal(batchBody['request_id'], refused?.id);
  });

  test('fails without files when no line is valid, and lists the errors', async () => {
    const wrong = { ...line('a', 'x'), url: '/v1/chat/completion' };
    const batch = await waitForEnd('failed', await create('failed', [wrong, '[]']));
    assert.deepEqual([batch.status, batch.output_file_id, batch.error_file_id], ['failed', null, null]);
    const { object, data } = batch['errors'] as { object: string; data: readonly Fields[] };
    assert.equal(object, 'list');
    assert.deepEqual(
      data.map(({ code, param, line: at }) => [code, param, at]),
      [
        ['url_not_found', 'url', 1],
        ['invalid_json_line', null, 2],
      ],
    );
    const empty = await waitForEnd('failed', await create('failed', ['']));
    assert.deepEqual((empty['errors'] as { data: readonly Fields[] }).data[0]?.['code'], 'empty_file');
  });

  for (const [endpoint, model, fields, expectedFields] of [
    ['/v1/completions', 'svc-coder-turbo', { prompt: 'x' }, { object: 'text_completion' }],
    ['/v1/responses', 'svc-plus', { input: 'x' }, { object: 'response', status: 'completed' }],
    ['/v1/embeddings', 'svc-embed', { input: ['x'] }, { object: 'list' }],
    ['/v1/chat/ds-test', 'batch-test-model', { messages: [] }, { object: 'chat.completion' }],
  ] as const)
    test(`runs lines for ${endpoint}`, async () => {
      const line = { custom_id: 'a', method: 'POST', url: endpoint, body: { model, ...fields } };
      const batch = await waitForEnd('endpoints', await create('endpoints', [line], { endpoint }));
      assert.deepEqual([batch.status, batch.request_counts], ['completed', counts(1, 1)], JSON.stringify(batch));
      const [{ response } = assert.fail()] = await readLines('endpoints', batch.output_file_id);
      assert.equal(response?.status_code, 200);
      for (const [name, value] of Object.entries(expectedFields)) assert.equal(response.body[name], value);
    });

  test('stores the response of a line like that of a live request', async () => {
    const endpoint = '/v1/responses';
    const line = { custom_id: 'a', method: 'POST', url: endpoint, body: { model: 'svc-plus', input: 'remember' } };
    const batch = await waitForEnd('responses', await create('responses', [line], { endpoint }));
    const [{ response } = assert.fail()] = await readLines('responses', batch.output_file_id);
    const stored = await call('responses', 'GET', `/v1/responses/${String(response?.body['id'])}`);
    assert.equal(stored.status, 200);
  });

  test('ends soon after a cancel, with the responses so far, and skips the rest', async () => {
    const slow = line('slow', 'script:["x",{"hang":true}]');
    const fast = ['a', 'b', 'c'].map((name) => line(name, name));
    const many = Array.from({ length: 20 }, (_, index) => ({ ...slow, custom_id: `slow${index}` }));
    const made = await create('cancel', [...fast, ...many]);
    await waitForBatch('cancel', made, ({ request_counts }) => request_counts.completed === 3);
    const answer = await call('cancel', 'POST', `/v1/batches/${made.id}/cancel`);
    assert.equal(((await answer.json()) as Batch).status, 'cancelling');
    const batch = await waitForEnd('cancel', made);
    assert.deepEqual([batch.status, batch.request_counts], ['cancelled', { total: 23, completed: 3, failed: 0 }]);
    const lines = await readLines('cancel', batch.output_file_id);
    assert.deepEqual(
      lines.map(({ custom_id }) => custom_id),
      ['a', 'b', 'c'],
    );
    assert.equal(batch.error_file_id, null);
    assert.ok(Number(batch['cancelling_at']) > 0 && Number(batch['cancelled_at']) > 0);
    const again = await call('cancel', 'POST', `/v1/batches/${made.id}/cancel`);
    assert.equal(again.status, 409);
  });

  test('answers 401 for lines that run after the key was revoked', async () => {
    const { id } = await getKey('revoked');
    await getKey('revoked-reader');
    const names = Array.from({ length: 400 }, (_, at) => `n${at}`);
    const made = await create(
      'revoked',
      // Slow lines, so that most of them are still to come when the first ones are seen.
      names.map((name) => line(name, 'script:["x",{"delayMs":200},"y"]')),
    );
    await waitForBatch('revoked', made, ({ request_counts }) => request_counts.completed > 3);
    await service?.keys.revoke(id);
    const draft = { region: 'cn-beijing', workspace: 'revoked', name: '', expiresAt: undefined } as const;
    const next = await service?.keys.create(draft);
    replaceKey('revoked', next);
    const batch = await waitForEnd('revoked', made);
    const errors = await readLines('revoked', batch.error_file_id);
    assert.equal(batch.status, 'completed');
    assert.ok(errors.length > 100, String(errors.length));
    assert.deepEqual(
      new Set(errors.map(({ response, error }) => `${response?.status_code} ${error?.code}`)),
      new Set(['401 invalid_api_key']),
    );
    assert.equal(batch.request_counts.completed + batch.request_counts.failed, 400);
  });
  const replaceKey = (workspace: string, key: Awaited<ReturnType<Service['keys']['create']>> | undefined): void => {
    assert.ok(key);
    keys.set(workspace, { id: key.record.id, secret: key.secret });
  };

  test('sends a signed callback when the batch ends, and retries it after a failure', async () => {
    const received: { readonly headers: Fields; readonly body: string }[] = [];
    const { promise: firstReceived, resolve: resolveFirst } = Promise.withResolvers<void>();
    const { promise: bothReceived, resolve: resolveBoth } = Promise.withResolvers<void>();
    const receiver = createServer((request, response) => {
      void textOf(request).then((body) => {
        received.push({ headers: request.headers, body });
        response.writeHead(received.length === 1 ? 302 : 204, { location: '/elsewhere' }).end();
        resolveFirst();
        if (received.length === 2) resolveBoth();
      });
    });
    await new Promise<void>((listening) => receiver.listen(0, '127.0.0.1', listening));
    const address = receiver.address();
    const port = typeof address === 'object' && address ? address.port : 0;
    try {
      const metadata = { ds_name: 'x', ds_batch_finish_callback: `http://127.0.0.1:${port}/hook?a=b` };
      const batch = await waitForEnd('callback', await create('callback', [line('a', 'x')], { metadata }));
      await firstReceived;
      // The retry is due minutes after the failure, so the clock is advanced.
      const clockTimer = setInterval(() => (clockOffsetMs += 60_000), 20);
      await bothReceived.finally(() => clearInterval(clockTimer));
      const secret = readFileSync(join(folder, 'callback-secret'), 'utf8').trim();
      for (const { headers, body } of received) {
        const signed = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body}`;
        const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
        const mac = createHmac('sha256', key).update(signed).digest('base64');
        assert.equal(headers['webhook-signature'], `v1,${mac}`);
        assert.equal(headers['content-type'], 'application/json');
        const event = JSON.parse(body) as { id: string; type: string; source: string; data: Batch };
        assert.equal(event.type, 'dashscope:System:BatchTaskFinish');
        assert.equal(event.id, headers['webhook-id']);
        assert.deepEqual(event.data, { task_id: batch.id, ...batch });
      }
      assert.equal(received[0]?.headers['webhook-id'], received[1]?.headers['webhook-id']);
    } finally {
      receiver.closeAllConnections();
      await new Promise((closed) => receiver.close(closed));
    }
  });

  test('keeps the responses so far when the completion window ends, and expires the rest', async () => {
    const slow = Array.from({ length: 20 }, (_, index) => line(`slow${index}`, 'script:["x",{"hang":true}]'));
    const made = await create('expired', [line('a', 'x'), ...slow]);
    await waitForBatch('expired', made, ({ request_counts }) => request_counts.completed === 1);
    clockOffsetMs += 25 * 3_600_000;
    const batch = await waitForEnd('expired', made);
    assert.deepEqual([batch.status, batch.request_counts], ['expired', counts(21, 1)]);
    const errors = await readLines('expired', batch.error_file_id);
    assert.deepEqual(
      errors.map(({ custom_id, error, response }) => `${custom_id} ${error?.code} ${JSON.stringify(response)}`),
      slow.map(({ custom_id }) => `${custom_id} batch_expired null`),
    );
  });
});
