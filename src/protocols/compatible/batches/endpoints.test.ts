import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { BlobStore } from '../../../blobs/blob-store.ts';
import { openDisk } from '../../../blobs/disk.ts';
import type { BatchWork } from '../../../resources/batches/batch.ts';
import { createBatches } from '../../../resources/batches/service.ts';
import { createBatchWork } from '../../../resources/batches/work.ts';
import { createFiles } from '../../../resources/files/service.ts';
import { sqliteDialect } from '../../../store/dialects/sqlite.ts';
import { openStore, type Store } from '../../../store/store.ts';
import type { Endpoint } from '../../endpoint.ts';
import { ask, CONTEXT, REQUEST_ID } from '../../fields/__fixtures__/ask.ts';
import type { Asked } from '../../fields/__fixtures__/ask.ts';
import { createZonedTime } from '../../fields/zoned-time.ts';
import { batchEndpoints } from './endpoints.ts';

const NOW = Date.parse('2026-07-01T12:00:00.123Z');
const SECOND = 1_782_907_200;
const LIMITS = { fileBytesMax: 1e9, totalBytesMax: 1e9, countMax: 100 };

let nowMs = NOW;
let folder: string;
let store: Store;
let blobs: BlobStore;
let work: BatchWork;
let endpoints: (strict?: boolean) => readonly Endpoint[];
let upload: () => Promise<string>;
let close: () => Promise<void>;

beforeEach(async () => {
  nowMs = NOW;
  folder = await mkdtemp(join(tmpdir(), 'parley-batch-endpoints-'));
  store = await openStore({ dialect: sqliteDialect({ file: ':memory:' }) });
  blobs = await openDisk({ folder });
  const clock = { now: () => nowMs, monotonic: () => 0 };
  let made = 0;
  const sortable = (prefix: string) => prefix + String(++made).padStart(32, '0');
  const ids = { request: () => REQUEST_ID, sortable, toolCall: () => '' };
  const log = { warn: assert.fail };
  const bell = { ring: () => undefined };
  const needs = { store, blobs, clock, ids, log, bell, limitsOf: () => LIMITS, every: () => () => undefined };
  const files = createFiles(needs);
  const batches = createBatches(needs);
  work = createBatchWork(needs);
  endpoints = (strict = false) => batchEndpoints({ batches, time: createZonedTime('UTC'), strict });
  close = () => files.close();
  upload = async () => {
    const received = await files.receive(CONTEXT.owner, (async function* () {})());
    const draft = { name: 'in.jsonl', description: '', purpose: 'batch' };
    return (await files.keep(CONTEXT.owner, [{ received, draft }]))[0]?.id ?? assert.fail();
  };
});
afterEach(async () => {
  await close();
  await store.close();
  await rm(folder, { recursive: true });
});

const call = (operation: string, asked: Asked = {}, strict = false) => {
  const endpoint = endpoints(strict).find((each) => each.operation === `batches.${operation}`);
  return ask(endpoint ?? assert.fail(operation), asked);
};
/** The answer as it is written. */
const told = async (operation: string, asked: Asked = {}) => {
  const { status, body } = await call(operation, asked);
  assert.equal(status, 200, JSON.stringify(body));
  return JSON.stringify(body);
};
const refused = async (operation: string, asked: Asked, strict = false) => {
  const { status, body } = await call(operation, asked, strict);
  const { error } = body as { error: { message: string; type: string; param: string | null; code: string } };
  return { status, ...error };
};
const wish = (input_file_id: string, change: object = {}) => ({
  input_file_id,
  endpoint: '/v1/chat/completions',
  completion_window: '24h',
  ...change,
});
const create = async (change: object = {}) => {
  const { id } = JSON.parse(await told('create', { body: wish(await upload(), change) })) as { id: string };
  return id;
};

const FILE = 'file-batch-00000000000000000000000000000002';
const ID = 'batch_00000000000000000000000000000003';
const id = (number: number, prefix = 'batch_') => prefix + String(number).padStart(32, '0');

const object = (change: string) =>
  `{"id":"${ID}","object":"batch","endpoint":"/v1/chat/completions",${change},"metadata":{"ds_name":"a"}}`;
const dated = (times: Readonly<Record<string, number>>) =>
  [
    'created_at',
    'in_progress_at',
    'expires_at',
    'finalizing_at',
    'completed_at',
    'failed_at',
    'expired_at',
    'cancelling_at',
    'cancelled_at',
  ]
    .map((field) => `"${field}":${times[field] ?? null}`)
    .join();
const counted = (total: number, completed: number, failed: number) =>
  `"request_counts":{"total":${total},"completed":${completed},"failed":${failed}}`;
const state = (status: string, output = 'null', error = 'null') =>
  `"input_file_id":"${FILE}","completion_window":"24h","status":"${status}","output_file_id":${output},"error_file_id":${error}`;

describe('a batch', () => {
  const made = async () => await create({ metadata: { ds_name: 'a' } });
  const get = () => told('get', { params: { id: ID } });
  const finish = async (endsAs: 'completed' | 'expired' | 'cancelled') => {
    const batch = (await work.beginFinalizing(ID, endsAs)) ?? assert.fail();
    const put = async (blob: string) => ({ blob, ...(await blobs.put(blob, (async function* () {})())) });
    return await work.finish(ID, { output: await put(batch.outputBlob), error: await put(batch.errorBlob) });
  };

  test('is told as it is made, with every field', async () => {
    const said = object(`"errors":null,${state('validating')},${dated({ created_at: SECOND })},${counted(0, 0, 0)}`);
    assert.equal(await told('create', { body: wish(await upload(), { metadata: { ds_name: 'a' } }) }), said);
    assert.equal(await get(), said);
    await work.addResults(ID, [{ line: 1, kind: 'error', json: '{}' }]);
    assert.equal(await get(), said);
  });

  test('is told while it runs, and when it is completed', async () => {
    await made();
    nowMs += 1000;
    await work.start(ID, { model: 'svc-plus', total: 3 });
    const begun = { created_at: SECOND, in_progress_at: SECOND + 1, expires_at: SECOND + 86_400 };
    assert.equal(await get(), object(`"errors":null,${state('in_progress')},${dated(begun)},${counted(3, 0, 0)}`));
    await work.addResults(ID, [
      { line: 1, kind: 'error', json: '{}' },
      { line: 2, kind: 'output', json: '{}' },
    ]);
    nowMs += 1000;
    await finish('completed');
    const ended = { ...begun, finalizing_at: SECOND + 2, completed_at: SECOND + 2 };
    assert.match(
      await get(),
      new RegExp(
        `"status":"completed","output_file_id":"file-batch_output-\\d{32}","error_file_id":"file-batch_error-\\d{32}",${dated(ended)},${counted(3, 1, 1)}`,
      ),
    );
  });

  test('is told when it expired, and when it was cancelled', async () => {
    await made();
    await work.start(ID, { model: 'svc-plus', total: 0 });
    nowMs += 1000;
    await finish('expired');
    assert.match(await get(), /"status":"expired".*"completed_at":null,"failed_at":null,"expired_at":1782907201,"canc/);
    const second = await create();
    const cancelling = await told('cancel', { params: { id: second } });
    assert.match(cancelling, /"status":"cancelling".*"cancelling_at":1782907201,"cancelled_at":null/);
    await work.beginFinalizing(second, 'cancelled');
    await work.finish(second, {});
    assert.match(await told('get', { params: { id: second } }), /"status":"cancelled".*"cancelled_at":1782907201,/);
  });

  test('is told with its problems when it failed', async () => {
    await made();
    await work.fail(ID, [
      { code: 'url_not_found', message: 'No.', param: 'url', line: 1 },
      { code: 'empty_file', message: 'Empty.' },
    ]);
    const problems =
      '{"code":"url_not_found","message":"No.","param":"url","line":1},{"code":"empty_file","message":"Empty.","param":null,"line":null}';
    assert.equal(
      await get(),
      object(
        `"errors":{"object":"list","data":[${problems}]},${state('failed')},${dated({ created_at: SECOND, failed_at: SECOND })},${counted(0, 0, 0)}`,
      ),
    );
  });

  test('has an object for metadata where none was sent, and takes any key', async () => {
    await create();
    assert.match(await get(), /"metadata":\{\}\}$/);
    const metadata: unknown = JSON.parse('{"__proto__":"a","constructor":"b"}');
    assert.match(
      await told('create', { body: wish(await upload(), { metadata }) }),
      /"metadata":\{"__proto__":"a","constructor":"b"\}\}$/,
    );
  });

  test('that has ended cannot be cancelled', async () => {
    await made();
    await work.fail(ID, []);
    assert.deepEqual(await refused('cancel', { params: { id: ID } }), {
      status: 409,
      message: "Cannot cancel a batch with status 'failed'.",
      type: 'invalid_request_error',
      param: null,
      code: 'conflict',
    });
  });

  for (const operation of ['get', 'cancel']) {
    test(`that is not there is 404 to ${operation}`, async () => {
      for (const other of [id(9), 'batch_', '', '\0', '../x']) {
        assert.deepEqual(await refused(operation, { params: { id: other } }), {
          status: 404,
          message: `No batch found with id '${other}'.`,
          type: 'invalid_request_error',
          param: null,
          code: 'not_found',
        });
      }
    });
  }
});

describe('making a batch', () => {
  for (const window of ['24h', '100h', '336h', '1d', '14d']) {
    test(`takes a window of ${window}, and tells it as it was sent`, async () => {
      const made = await create({ completion_window: window });
      assert.ok((await told('get', { params: { id: made } })).includes(`"completion_window":"${window}"`));
      const hours = window.endsWith('d') ? 24 * Number.parseInt(window, 10) : Number.parseInt(window, 10);
      assert.equal((await work.start(made, { model: 'm', total: 1 }))?.expiresAt, NOW + hours * 3_600_000);
    });
  }

  for (const endpoint of [
    '/v1/chat/completions',
    '/v1/completions',
    '/v1/responses',
    '/v1/embeddings',
    '/v1/chat/ds-test',
  ]) {
    test(`takes ${endpoint}`, async () => {
      assert.ok(
        (await told('get', { params: { id: await create({ endpoint }) } })).includes(`"endpoint":"${endpoint}"`),
      );
    });
  }

  for (const [name, change, param, message] of [
    ['no input', { input_file_id: undefined }, 'input_file_id', /^Required parameter\(input_file_id\) missing/],
    ['an input that is no text', { input_file_id: 1 }, 'input_file_id', /must be a string/],
    ['an input that is not there', { input_file_id: 'file-batch-1' }, 'input_file_id', /no such file/],
    ['no endpoint', { endpoint: undefined }, 'endpoint', /^Required parameter/],
    ['another endpoint', { endpoint: '/v1/audio' }, 'endpoint', /must be one of "\/v1\/chat\/completions", /],
    ['no window', { completion_window: undefined }, 'completion_window', /^Required parameter/],
    ...['23h', '337h', '15d', '0d', '24', '24.5h', '24H', ' 24h', '1440m', '-24h', '9999h', ''].map(
      (window) =>
        [
          `a window of '${window}'`,
          { completion_window: window },
          'completion_window',
          /^Range of completion_window should be \[24h, 336h\], in whole hours or days \(completion_window: /,
        ] as const,
    ),
    ['metadata that is none', { metadata: [] }, 'metadata', /must be an object/],
    ['a number in metadata', { metadata: { a: 1 } }, 'metadata.a', /must be a string/],
    ['a long name', { metadata: { ds_name: '😀'.repeat(101) } }, 'metadata.ds_name', /at most 100 characters, got 101/],
    ['a long description', { metadata: { ds_description: 'x'.repeat(201) } }, 'metadata.ds_description', /at most 200/],
    [
      'too many pairs',
      { metadata: Object.fromEntries(Array.from({ length: 17 }, (_, at) => [`k${at}`, 'v'])) },
      'metadata',
      /at most 16 pairs/,
    ],
    ...['nonsense', 'ftp://x/', '//x', ''].map(
      (url) =>
        [
          `'${url}' to call back`,
          { metadata: { ds_batch_finish_callback: url } },
          'metadata.ds_batch_finish_callback',
          /must be an address with http or https/,
        ] as const,
    ),
  ] as const) {
    test(`refuses ${name}`, async () => {
      const { status, code, ...said } = await refused('create', { body: wish(await upload(), change) });
      assert.deepEqual([status, code, said.param], [400, 'invalid_parameter_error', param]);
      assert.match(said.message, message);
    });
  }

  test('takes names and descriptions as long as they may be', async () => {
    await create({ metadata: { ds_name: '😀'.repeat(100), ds_description: 'x'.repeat(200), a: '' } });
  });

  test('refuses a body that is none', async () => {
    for (const body of [undefined, null, [], 'x'])
      assert.equal((await refused('create', { body })).status, 400, JSON.stringify(body));
  });

  test('names what it does not act on, and what nobody knows', async () => {
    const input = await upload();
    const metadata = { ds_batch_finish_message_queue: 'acs:x', ds_batch_finish_callback: 'https://x.example/y?z' };
    const change = { metadata, output_expires_after: { anchor: 'created_at', seconds: 3600 } };
    const { status, headers } = await call('create', { body: wish(input, change) });
    const ignored = 'output_expires_after,metadata.ds_batch_finish_message_queue';
    assert.deepEqual([status, headers], [200, { 'x-parley-ignored': ignored }]);
    const { status: strictly, param } = await refused('create', { body: wish(input, change) }, true);
    assert.deepEqual([strictly, param], [400, 'output_expires_after']);
  });

  test('is refused as an upload is where there is no room', async () => {
    for (let at = 0; at < 33; at += 1) await create();
    const { status, code, type, message } = await refused('create', { body: wish(await upload()) });
    assert.deepEqual([status, code, type], [400, 'insufficient_quota', 'insufficient_quota']);
    assert.match(message, /^Out of number, <100> of <100> files/);
  });
});

describe('a list of batches', () => {
  const idsOf = async (query = '') => {
    const { data } = JSON.parse(await told('list', { query })) as { data: { id: string }[] };
    return data.map((each) => each.id);
  };

  test('is empty as it is written, and names its ends otherwise', async () => {
    assert.equal(await told('list'), '{"object":"list","data":[],"first_id":null,"last_id":null,"has_more":false}');
    const first = await create();
    const second = await create();
    const [one, other] = [await told('get', { params: { id: first } }), await told('get', { params: { id: second } })];
    assert.equal(
      await told('list'),
      `{"object":"list","data":[${other},${one}],"first_id":"${second}","last_id":"${first}","has_more":false}`,
    );
    assert.equal(
      await told('list', { query: 'limit=1' }),
      `{"object":"list","data":[${other}],"first_id":"${second}","last_id":"${second}","has_more":true}`,
    );
    assert.equal(
      await told('list', { query: `limit=1&after=${second}` }),
      `{"object":"list","data":[${one}],"first_id":"${first}","last_id":"${first}","has_more":false}`,
    );
  });

  test('has 20 of them where nothing is asked for', async () => {
    for (let at = 0; at < 21; at += 1) await create();
    assert.equal((await idsOf()).length, 20);
    assert.equal((await idsOf('limit=100')).length, 21);
  });

  test('is of a name, of inputs, of statuses and of times', async () => {
    const first = await create({ metadata: { ds_name: 'Nightly run' } });
    nowMs += 60_000;
    const second = await create({ metadata: { ds_name: 'other' } });
    await work.fail(second, []);
    assert.deepEqual(await idsOf('ds_name=night'), [first]);
    assert.deepEqual(await idsOf('ds_name='), [second, first]);
    assert.deepEqual(await idsOf(`input_file_ids=${FILE},%20file-batch-x,`), [first]);
    assert.deepEqual(await idsOf('status=failed'), [second]);
    assert.deepEqual(await idsOf('status=validating,failed'), [second, first]);
    assert.deepEqual(await idsOf('status=validating, completed'), [first]);
    assert.deepEqual(await idsOf('create_after=20260701120100'), [second]);
    assert.deepEqual(await idsOf('create_before=20260701120000'), [first]);
    nowMs += 30 * 86_400_000;
    assert.deepEqual(await idsOf('create_after=20200101000000'), [second]);
  });

  for (const [query, param, message] of [
    ['limit=0', 'limit', /^Range of limit should be \[1, 100\]/],
    ['limit=101', 'limit', /^Range of limit should be \[1, 100\]/],
    ['limit=x', 'limit', /^Range of limit/],
    ['after=nonsense', 'after', /must be the id of a batch/],
    ['after=%00', 'after', /must be the id of a batch/],
    ['status=done', 'status', /^status must be any of validating, .* \(status: "done"\)$/],
    ['status=failed,Completed', 'status', /^status must be any of/],
    ['status=,', 'status', /^status must be any of/],
    ['input_file_ids=,', 'input_file_ids', /1 to 20 ids/],
    [`input_file_ids=${Array.from({ length: 21 }, (_, at) => `f${at}`).join()}`, 'input_file_ids', /1 to 20 ids/],
    ['create_after=2026-07-01', 'create_after', /must be yyyyMMddHHmmss/],
    ['create_before=20260230000000', 'create_before', /must be yyyyMMddHHmmss/],
  ] as const) {
    test(`is refused with ${query.slice(0, 40)}`, async () => {
      const said = await refused('list', { query });
      assert.deepEqual([said.status, said.param], [400, param], said.message);
      assert.match(said.message, message);
    });
  }

  test('names the fields that nobody knows', async () => {
    const { headers } = await call('list', { query: 'before=x&order=asc' });
    assert.deepEqual(headers, { 'x-parley-ignored': 'before,order' });
    assert.equal((await refused('list', { query: 'before=x' }, true)).status, 400);
  });
});
