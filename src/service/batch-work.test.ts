import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { loadConfig } from '../config/load-config.ts';
import { createService } from './service.ts';
import type { Service } from './service.ts';

type Fields = Readonly<Record<string, unknown>>;

/** What a service tells of a batch, as far as it is looked at here. */
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
const ENDED = ['completed', 'failed', 'expired', 'cancelled'];
/** The machine may be busy. */
const WITHIN_MS = 30_000;

describe('batches, through the whole service', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-batch-work-'));
  const logged: Fields[] = [];
  let service: Service | undefined;
  let url = '';
  let aheadMs = 0;

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
    const log = { info: (_: string, facts: Fields = {}) => void logged.push(facts), warn: quiet, error: quiet };
    const clock = { now: () => Date.now() + aheadMs, monotonic: () => performance.now() };
    const jobTiming = { renewMs: 50, lookMs: 50 };
    service = await createService(loadConfig({ env }).config, { log, clock, jobTiming });
    [{ url } = { url: '' }] = await service.listen();
  });
  after(async () => {
    await service?.close();
    rmSync(folder, { recursive: true });
  });

  const made = new Map<string, { readonly id: string; readonly secret: string }>();
  const keyOf = async (workspace: string) => {
    const draft = { region: 'cn-beijing', workspace, name: '', expiresAt: undefined } as const;
    const key = made.get(workspace) ?? (await service?.keys.create(draft));
    assert.ok(key);
    const kept = { id: 'record' in key ? key.record.id : key.id, secret: key.secret };
    made.set(workspace, kept);
    return kept;
  };
  const ask = async (workspace: string, method: string, path: string, body?: FormData | object) => {
    const { secret } = await keyOf(workspace);
    const isForm = body instanceof FormData;
    return await fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${secret}`, ...(isForm ? {} : { 'content-type': 'application/json' }) },
      ...(body ? { body: isForm ? body : JSON.stringify(body) } : {}),
    });
  };
  const create = async (workspace: string, lines: readonly (object | string)[], wish: object = {}): Promise<Batch> => {
    const form = new FormData();
    form.append('purpose', 'batch');
    const text = lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join('');
    form.append('file', new Blob([text]), 'in.jsonl');
    const { id } = (await (await ask(workspace, 'POST', '/v1/files', form)).json()) as { id: string };
    const asked = { input_file_id: id, endpoint: CHAT, completion_window: '24h', ...wish };
    const answer = await ask(workspace, 'POST', '/v1/batches', asked);
    assert.equal(answer.status, 200, await answer.clone().text());
    return (await answer.json()) as Batch;
  };
  const get = async (workspace: string, id: string): Promise<Batch> =>
    (await (await ask(workspace, 'GET', `/v1/batches/${id}`)).json()) as Batch;
  const waitFor = async (workspace: string, { id }: Batch, isThere: (batch: Batch) => boolean): Promise<Batch> => {
    const begunAt = performance.now();
    for (;;) {
      const batch = await get(workspace, id);
      if (isThere(batch)) return batch;
      assert.ok(performance.now() - begunAt < WITHIN_MS, JSON.stringify(batch));
    }
  };
  const ended = (workspace: string, batch: Batch): Promise<Batch> =>
    waitFor(workspace, batch, ({ status }) => ENDED.includes(status));
  const linesOf = async (workspace: string, id: string | null): Promise<readonly Line[]> => {
    if (id === null) return [];
    const text = await (await ask(workspace, 'GET', `/v1/files/${id}/content`)).text();
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

  test('each line has its answer, in the order of the input, as a live request has it', async () => {
    const names = Array.from({ length: 50 }, (_, at) => `n${at}`);
    const unheard = { nobody_knows_this: 1 };
    const made = await create(
      'good',
      names.map((name) => line(name, name, name === 'n7' ? unheard : {})),
    );
    assert.deepEqual([made.status, made.request_counts], ['validating', counts(0, 0)]);
    const batch = await ended('good', made);
    assert.deepEqual([batch.status, batch.request_counts], ['completed', counts(50, 50)]);
    assert.deepEqual([batch.error_file_id, batch['errors']], [null, null]);
    assert.match(batch.output_file_id ?? '', /^file-batch_output-/);
    const lines = await linesOf('good', batch.output_file_id);
    assert.deepEqual(
      lines.map(({ custom_id }) => custom_id),
      names,
    );
    const answer = await ask('good', 'POST', CHAT, line('', 'n7', unheard).body);
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
    const told = logged.filter((facts) => facts['batch'] === batch.id && facts['operation'] !== undefined);
    assert.equal(told.length, 50);
    assert.equal(told[0]?.['operation'], 'chat-completions.create');
    assert.equal(told[0]?.['workspace'], 'good');
  });

  test('a line searches as a live request does', async () => {
    const searching = { enable_search: true, search_options: { forced_search: true } };
    const batch = await ended(
      'search',
      await create('search', [line('a', 'Who wrote it?', searching), line('b', 'Who wrote it?')]),
    );
    assert.deepEqual(batch.request_counts, counts(2, 2));
    const texts = (await linesOf('search', batch.output_file_id)).map(({ response }) => JSON.stringify(response?.body));
    // Nothing is in the index, which the model is told, and says again.
    assert.match(texts[0] ?? '', /You said: A web search for what follows found nothing/);
    assert.match(texts[1] ?? '', /You said: Who wrote it\?/);
  });

  test('what is wrong with lines stands in the error file, in their order, and the others go on', async () => {
    const batch = await ended(
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
    const output = await linesOf('bad-lines', batch.output_file_id);
    assert.deepEqual(
      output.map(({ custom_id }) => custom_id),
      ['a', 'j'],
    );
    const errors = await linesOf('bad-lines', batch.error_file_id);
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
    const ownBody = (refused?.response?.body ?? {}) as Fields & {
      error: { message: string; code: string; param: string };
    };
    const { error: told } = ownBody;
    assert.deepEqual([told.code, told.param], ['invalid_parameter_error', 'temperature']);
    assert.equal(refused?.error?.message, told.message);
    const live = await ask('bad-lines', 'POST', CHAT, line('', 'x', { temperature: 7 }).body);
    const liveBody = (await live.json()) as Fields;
    assert.deepEqual({ ...ownBody, request_id: '' }, { ...liveBody, request_id: '' });
    assert.equal(ownBody['request_id'], refused?.id);
  });

  test('an input without a good line fails, line by line, without files', async () => {
    const wrong = { ...line('a', 'x'), url: '/v1/chat/completion' };
    const batch = await ended('failed', await create('failed', [wrong, '[]']));
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
    const empty = await ended('failed', await create('failed', ['']));
    assert.deepEqual((empty['errors'] as { data: readonly Fields[] }).data[0]?.['code'], 'empty_file');
  });

  for (const [endpoint, model, fields, look] of [
    ['/v1/completions', 'svc-coder-turbo', { prompt: 'x' }, { object: 'text_completion' }],
    ['/v1/responses', 'svc-plus', { input: 'x' }, { object: 'response', status: 'completed' }],
    ['/v1/embeddings', 'svc-embed', { input: ['x'] }, { object: 'list' }],
    ['/v1/chat/ds-test', 'batch-test-model', { messages: [] }, { object: 'chat.completion' }],
  ] as const)
    test(`${endpoint} is asked`, async () => {
      const asked = { custom_id: 'a', method: 'POST', url: endpoint, body: { model, ...fields } };
      const batch = await ended('endpoints', await create('endpoints', [asked], { endpoint }));
      assert.deepEqual([batch.status, batch.request_counts], ['completed', counts(1, 1)], JSON.stringify(batch));
      const [{ response } = assert.fail()] = await linesOf('endpoints', batch.output_file_id);
      assert.equal(response?.status_code, 200);
      for (const [name, value] of Object.entries(look)) assert.equal(response.body[name], value);
    });

  test('a response of a batch is kept as one of a live request is', async () => {
    const endpoint = '/v1/responses';
    const asked = { custom_id: 'a', method: 'POST', url: endpoint, body: { model: 'svc-plus', input: 'remember' } };
    const batch = await ended('responses', await create('responses', [asked], { endpoint }));
    const [{ response } = assert.fail()] = await linesOf('responses', batch.output_file_id);
    const kept = await ask('responses', 'GET', `/v1/responses/${String(response?.body['id'])}`);
    assert.equal(kept.status, 200);
  });

  test('one that is cancelled ends soon, with the answers that there are, and the rest is not run', async () => {
    const slow = line('slow', 'script:["x",{"hang":true}]');
    const fast = ['a', 'b', 'c'].map((name) => line(name, name));
    const many = Array.from({ length: 20 }, (_, at) => ({ ...slow, custom_id: `slow${at}` }));
    const made = await create('cancel', [...fast, ...many]);
    await waitFor('cancel', made, ({ request_counts }) => request_counts.completed === 3);
    const answer = await ask('cancel', 'POST', `/v1/batches/${made.id}/cancel`);
    assert.equal(((await answer.json()) as Batch).status, 'cancelling');
    const batch = await ended('cancel', made);
    assert.deepEqual([batch.status, batch.request_counts], ['cancelled', { total: 23, completed: 3, failed: 0 }]);
    const lines = await linesOf('cancel', batch.output_file_id);
    assert.deepEqual(
      lines.map(({ custom_id }) => custom_id),
      ['a', 'b', 'c'],
    );
    assert.equal(batch.error_file_id, null);
    assert.ok(Number(batch['cancelling_at']) > 0 && Number(batch['cancelled_at']) > 0);
    const again = await ask('cancel', 'POST', `/v1/batches/${made.id}/cancel`);
    assert.equal(again.status, 409);
  });

  test('a revoked key ends its lines within seconds: each is answered as a request with it is', async () => {
    const { id } = await keyOf('revoked');
    await keyOf('revoked-reader');
    const names = Array.from({ length: 400 }, (_, at) => `n${at}`);
    const made = await create(
      'revoked',
      // So slow that most of them are still to come, however late it is seen that some were answered.
      names.map((name) => line(name, 'script:["x",{"delayMs":200},"y"]')),
    );
    await waitFor('revoked', made, ({ request_counts }) => request_counts.completed > 3);
    await service?.keys.revoke(id);
    const draft = { region: 'cn-beijing', workspace: 'revoked', name: '', expiresAt: undefined } as const;
    const next = await service?.keys.create(draft);
    keysAgain('revoked', next);
    const batch = await ended('revoked', made);
    const errors = await linesOf('revoked', batch.error_file_id);
    assert.equal(batch.status, 'completed');
    assert.ok(errors.length > 100, String(errors.length));
    assert.deepEqual(
      new Set(errors.map(({ response, error }) => `${response?.status_code} ${error?.code}`)),
      new Set(['401 invalid_api_key']),
    );
    assert.equal(batch.request_counts.completed + batch.request_counts.failed, 400);
  });
  const keysAgain = (workspace: string, key: Awaited<ReturnType<Service['keys']['create']>> | undefined): void => {
    assert.ok(key);
    made.set(workspace, { id: key.record.id, secret: key.secret });
  };

  test('whoever is named is told of the end, signed, and again where that fails', async () => {
    const got: { readonly headers: Fields; readonly body: string }[] = [];
    const { promise: heard, resolve: hear } = Promise.withResolvers<void>();
    const { promise: told, resolve: tell } = Promise.withResolvers<void>();
    const receiver = createServer((request, response) => {
      void textOf(request).then((body) => {
        got.push({ headers: request.headers, body });
        response.writeHead(got.length === 1 ? 302 : 204, { location: '/elsewhere' }).end();
        hear();
        if (got.length === 2) tell();
      });
    });
    await new Promise<void>((listening) => receiver.listen(0, '127.0.0.1', listening));
    const address = receiver.address();
    const port = typeof address === 'object' && address ? address.port : 0;
    try {
      const metadata = { ds_name: 'x', ds_batch_finish_callback: `http://127.0.0.1:${port}/hook?a=b` };
      const batch = await ended('callback', await create('callback', [line('a', 'x')], { metadata }));
      await heard;
      // Its next try is due in minutes, once it is known that this one failed.
      const onward = setInterval(() => (aheadMs += 60_000), 20);
      await told.finally(() => clearInterval(onward));
      const secret = readFileSync(join(folder, 'callback-secret'), 'utf8').trim();
      for (const { headers, body } of got) {
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
      assert.equal(got[0]?.headers['webhook-id'], got[1]?.headers['webhook-id']);
    } finally {
      receiver.closeAllConnections();
      await new Promise((closed) => receiver.close(closed));
    }
  });

  test('when its window is over, what was answered is there and the rest says that it came too late', async () => {
    const slow = Array.from({ length: 20 }, (_, at) => line(`slow${at}`, 'script:["x",{"hang":true}]'));
    const made = await create('expired', [line('a', 'x'), ...slow]);
    await waitFor('expired', made, ({ request_counts }) => request_counts.completed === 1);
    aheadMs += 25 * 3_600_000;
    const batch = await ended('expired', made);
    assert.deepEqual([batch.status, batch.request_counts], ['expired', counts(21, 1)]);
    const errors = await linesOf('expired', batch.error_file_id);
    assert.deepEqual(
      errors.map(({ custom_id, error, response }) => `${custom_id} ${error?.code} ${JSON.stringify(response)}`),
      slow.map(({ custom_id }) => `${custom_id} batch_expired null`),
    );
  });
});
