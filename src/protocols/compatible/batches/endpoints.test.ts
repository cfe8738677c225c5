import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { BlobStore } from '../../../blobs/blob-store.ts';
import { openDiskBlobStore } from '../../../blobs/disk-blob-store.ts';
import type { BatchLifecycle } from '../../../resources/batches/batch.ts';
import { createBatches } from '../../../resources/batches/service.ts';
import { createBatchLifecycle } from '../../../resources/batches/lifecycle.ts';
import { createFiles } from '../../../resources/files/service.ts';
import { openTestStore } from '../../../store/__fixtures__/open-test-store.ts';
import type { Store } from '../../../store/store.ts';
import type { Endpoint } from '../../endpoint.ts';
import {
  callEndpoint,
  TEST_CONTEXT,
  TEST_REQUEST_ID,
  type EndpointCall,
} from '../../fields/__fixtures__/test-endpoint-call.ts';
import { createZonedTime } from '../../fields/zoned-time.ts';
import { createBatchEndpoints } from './endpoints.ts';

const NOW = Date.parse('2026-07-01T12:00:00.123Z');
const SECOND = 1_782_907_200;
const LIMITS = { fileBytesMax: 1e9, totalBytesMax: 1e9, countMax: 100 };

let limits = LIMITS;

let nowMs = NOW;
let folder: string;
let store: Store;
let blobs: BlobStore;
let work: BatchLifecycle;
let endpoints: (strict?: boolean) => readonly Endpoint[];
let upload: () => Promise<string>;
let close: () => Promise<void>;

beforeEach(async () => {
  nowMs = NOW;
  limits = LIMITS;
  folder = await mkdtemp(join(tmpdir(), 'parley-batch-endpoints-'));
  store = await openTestStore();
  blobs = await openDiskBlobStore({ folder });
  const clock = { now: () => nowMs, monotonic: () => 0 };
  let count = 0;
  const createSortableId = (prefix: string) => prefix + String(++count).padStart(32, '0');
  const ids = { createRequestId: () => TEST_REQUEST_ID, createSortableId, createToolCallId: () => '' };
  const log = { warn: assert.fail };
  const notifier = { notify: () => undefined };
  const deps = {
    store,
    blobs,
    clock,
    ids,
    log,
    notifier,
    getLimits: () => limits,
    startInterval: () => () => undefined,
  };
  const files = createFiles(deps);
  const batches = createBatches(deps);
  work = createBatchLifecycle(deps);
  endpoints = (strict = false) => createBatchEndpoints({ batches, time: createZonedTime('UTC'), strict });
  close = () => files.close();
  upload = async () => {
    const received = await files.receive(TEST_CONTEXT.owner, (async function* () {})());
    const draft = { name: 'in.jsonl', description: '', purpose: 'batch' };
    return (await files.commit(TEST_CONTEXT.owner, [{ received, draft }]))[0]?.id ?? assert.fail();
  };
});
afterEach(async () => {
  await close();
  await store.close();
  await rm(folder, { recursive: true });
});

const call = (operation: string, request: EndpointCall = {}, strict = false) => {
  const endpoint = endpoints(strict).find((each) => each.operation === `batches.${operation}`);
  return callEndpoint(endpoint ?? assert.fail(operation), request);
};
/** Calls an operation that must succeed, and returns the response body as text. */
const callOk = async (operation: string, request: EndpointCall = {}) => {
  const { status, body } = await call(operation, request);
  assert.equal(status, 200, JSON.stringify(body));
  return JSON.stringify(body);
};
const callRefused = async (operation: string, request: EndpointCall, strict = false) => {
  const { status, body } = await call(operation, request, strict);
  const { error } = body as { error: { message: string; type: string; param: string | null; code: string } };
  return { status, ...error };
};
const createBody = (input_file_id: string, change: object = {}) => ({
  input_file_id,
  endpoint: '/v1/chat/completions',
  completion_window: '24h',
  ...change,
});
const create = async (change: object = {}) => {
  const { id } = JSON.parse(await callOk('create', { body: createBody(await upload(), change) })) as { id: string };
  return id;
};

const FILE = 'file-batch-00000000000000000000000000000002';
const ID = 'batch_00000000000000000000000000000003';
const id = (number: number, prefix = 'batch_') => prefix + String(number).padStart(32, '0');

const formatBatch = (change: string) =>
  `{"id":"${ID}","object":"batch","endpoint":"/v1/chat/completions",${change},"metadata":{"ds_name":"a"}}`;
const formatTimes = (times: Readonly<Record<string, number>>) =>
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
const formatCounts = (total: number, completed: number, failed: number) =>
  `"request_counts":{"total":${total},"completed":${completed},"failed":${failed}}`;
const formatState = (status: string, output = 'null', error = 'null') =>
  `"input_file_id":"${FILE}","completion_window":"24h","status":"${status}","output_file_id":${output},"error_file_id":${error}`;

describe('batches', () => {
  const made = async () => await create({ metadata: { ds_name: 'a' } });
  const get = () => callOk('get', { params: { id: ID } });
  const finish = async (endsAs: 'completed' | 'expired' | 'cancelled') => {
    const batch = (await work.startFinalizing(ID, endsAs)) ?? assert.fail();
    const put = async (blob: string) => ({ blob, ...(await blobs.put(blob, (async function* () {})())) });
    return await work.finish(ID, { output: await put(batch.outputBlob), error: await put(batch.errorBlob) });
  };

  test('returns a new batch with every field', async () => {
    const expected = formatBatch(
      `"errors":null,${formatState('validating')},${formatTimes({ created_at: SECOND })},${formatCounts(0, 0, 0)}`,
    );
    assert.equal(
      await callOk('create', { body: createBody(await upload(), { metadata: { ds_name: 'a' } }) }),
      expected,
    );
    assert.equal(await get(), expected);
    await work.addResults(ID, [{ line: 1, kind: 'error', json: '{}' }]);
    assert.equal(await get(), expected);
  });

  test('returns a running and a completed batch', async () => {
    await made();
    nowMs += 1000;
    await work.start(ID, { model: 'svc-plus', total: 3 });
    const startTimes = { created_at: SECOND, in_progress_at: SECOND + 1, expires_at: SECOND + 86_400 };
    assert.equal(
      await get(),
      formatBatch(`"errors":null,${formatState('in_progress')},${formatTimes(startTimes)},${formatCounts(3, 0, 0)}`),
    );
    await work.addResults(ID, [
      { line: 1, kind: 'error', json: '{}' },
      { line: 2, kind: 'output', json: '{}' },
    ]);
    nowMs += 1000;
    await finish('completed');
    const endTimes = { ...startTimes, finalizing_at: SECOND + 2, completed_at: SECOND + 2 };
    assert.match(
      await get(),
      new RegExp(
        `"status":"completed","output_file_id":"file-batch_output-\\d{32}","error_file_id":"file-batch_error-\\d{32}",${formatTimes(endTimes)},${formatCounts(3, 1, 1)}`,
      ),
    );
  });

  test('returns an expired and a cancelled batch', async () => {
    await made();
    await work.start(ID, { model: 'svc-plus', total: 0 });
    nowMs += 1000;
    await finish('expired');
    assert.match(await get(), /"status":"expired".*"completed_at":null,"failed_at":null,"expired_at":1782907201,"canc/);
    const second = await create();
    const cancelling = await callOk('cancel', { params: { id: second } });
    assert.match(cancelling, /"status":"cancelling".*"cancelling_at":1782907201,"cancelled_at":null/);
    await work.startFinalizing(second, 'cancelled');
    await work.finish(second, {});
    assert.match(await callOk('get', { params: { id: second } }), /"status":"cancelled".*"cancelled_at":1782907201,/);
  });

  test('returns a failed batch with its problems', async () => {
    await made();
    await work.fail(ID, [
      { code: 'url_not_found', message: 'No.', param: 'url', line: 1 },
      { code: 'empty_file', message: 'Empty.' },
    ]);
    const problems =
      '{"code":"url_not_found","message":"No.","param":"url","line":1},{"code":"empty_file","message":"Empty.","param":null,"line":null}';
    assert.equal(
      await get(),
      formatBatch(
        `"errors":{"object":"list","data":[${problems}]},${formatState('failed')},${formatTimes({ created_at: SECOND, failed_at: SECOND })},${formatCounts(0, 0, 0)}`,
      ),
    );
  });

  test('returns empty metadata by default, and accepts any key', async () => {
    await create();
    assert.match(await get(), /"metadata":\{\}\}$/);
    const metadata: unknown = JSON.parse('{"__proto__":"a","constructor":"b"}');
    assert.match(
      await callOk('create', { body: createBody(await upload(), { metadata }) }),
      /"metadata":\{"__proto__":"a","constructor":"b"\}\}$/,
    );
  });

  test('refuses to cancel a finished batch', async () => {
    await made();
    await work.fail(ID, []);
    assert.deepEqual(await callRefused('cancel', { params: { id: ID } }), {
      status: 409,
      message: "Cannot cancel a batch with status 'failed'.",
      type: 'invalid_request_error',
      param: null,
      code: 'conflict',
    });
  });

  for (const operation of ['get', 'cancel']) {
    test(`${operation} returns 404 for an unknown batch`, async () => {
      for (const other of [id(9), 'batch_', '', '\0', '../x']) {
        assert.deepEqual(await callRefused(operation, { params: { id: other } }), {
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

describe('creating a batch', () => {
  for (const window of ['24h', '100h', '336h', '1d', '14d']) {
    test(`accepts the window ${window} and returns it unchanged`, async () => {
      const made = await create({ completion_window: window });
      assert.ok((await callOk('get', { params: { id: made } })).includes(`"completion_window":"${window}"`));
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
    test(`accepts ${endpoint}`, async () => {
      assert.ok(
        (await callOk('get', { params: { id: await create({ endpoint }) } })).includes(`"endpoint":"${endpoint}"`),
      );
    });
  }

  for (const [name, change, param, message] of [
    ['no input', { input_file_id: undefined }, 'input_file_id', /^Required parameter\(input_file_id\) missing/],
    ['an input that is not a string', { input_file_id: 1 }, 'input_file_id', /must be a string/],
    ['an unknown input file', { input_file_id: 'file-batch-1' }, 'input_file_id', /must be the id of an existing file/],
    ['no endpoint', { endpoint: undefined }, 'endpoint', /^Required parameter/],
    ['an unknown endpoint', { endpoint: '/v1/audio' }, 'endpoint', /must be one of "\/v1\/chat\/completions", /],
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
    ['metadata that is not an object', { metadata: [] }, 'metadata', /must be an object/],
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
          `the callback URL '${url}'`,
          { metadata: { ds_batch_finish_callback: url } },
          'metadata.ds_batch_finish_callback',
          /must be a URL that begins with http/,
        ] as const,
    ),
  ] as const) {
    test(`refuses ${name}`, async () => {
      const { status, code, ...refusal } = await callRefused('create', { body: createBody(await upload(), change) });
      assert.deepEqual([status, code, refusal.param], [400, 'invalid_parameter_error', param]);
      assert.match(refusal.message, message);
    });
  }

  test('accepts names and descriptions of maximum length', async () => {
    await create({ metadata: { ds_name: '😀'.repeat(100), ds_description: 'x'.repeat(200), a: '' } });
  });

  test('refuses a body that is not an object', async () => {
    for (const body of [undefined, null, [], 'x'])
      assert.equal((await callRefused('create', { body })).status, 400, JSON.stringify(body));
  });

  test('names ignored metadata and unknown fields', async () => {
    const input = await upload();
    const metadata = { ds_batch_finish_message_queue: 'acs:x', ds_batch_finish_callback: 'https://x.example/y?z' };
    const change = { metadata, output_expires_after: { anchor: 'created_at', seconds: 3600 } };
    const { status, headers } = await call('create', { body: createBody(input, change) });
    const ignored = 'output_expires_after,metadata.ds_batch_finish_message_queue';
    assert.deepEqual([status, headers], [200, { 'x-parley-ignored': ignored }]);
    const { status: strictly, param } = await callRefused('create', { body: createBody(input, change) }, true);
    assert.deepEqual([strictly, param], [400, 'output_expires_after']);
  });

  test('refuses a batch if the file quota is exhausted', async () => {
    limits = { ...LIMITS, countMax: 10 };
    for (let at = 0; at < 3; at += 1) await create();
    const { status, code, type, message } = await callRefused('create', { body: createBody(await upload()) });
    assert.deepEqual([status, code, type], [400, 'insufficient_quota', 'insufficient_quota']);
    assert.match(message, /^Out of number, 10 of 10 files/);
  });
});

describe('listing batches', () => {
  const getIds = async (query = '') => {
    const { data } = JSON.parse(await callOk('list', { query })) as { data: { id: string }[] };
    return data.map((each) => each.id);
  };

  test('returns an empty list without ids, and first and last id otherwise', async () => {
    assert.equal(await callOk('list'), '{"object":"list","data":[],"first_id":null,"last_id":null,"has_more":false}');
    const first = await create();
    const second = await create();
    const [one, other] = [
      await callOk('get', { params: { id: first } }),
      await callOk('get', { params: { id: second } }),
    ];
    assert.equal(
      await callOk('list'),
      `{"object":"list","data":[${other},${one}],"first_id":"${second}","last_id":"${first}","has_more":false}`,
    );
    assert.equal(
      await callOk('list', { query: 'limit=1' }),
      `{"object":"list","data":[${other}],"first_id":"${second}","last_id":"${second}","has_more":true}`,
    );
    assert.equal(
      await callOk('list', { query: `limit=1&after=${second}` }),
      `{"object":"list","data":[${one}],"first_id":"${first}","last_id":"${first}","has_more":false}`,
    );
  });

  test('returns 20 batches by default', async () => {
    for (let at = 0; at < 21; at += 1) await create();
    assert.equal((await getIds()).length, 20);
    assert.equal((await getIds('limit=100')).length, 21);
  });

  test('filters by name, input files, status and time', async () => {
    const first = await create({ metadata: { ds_name: 'Nightly run' } });
    nowMs += 60_000;
    const second = await create({ metadata: { ds_name: 'other' } });
    await work.fail(second, []);
    assert.deepEqual(await getIds('ds_name=night'), [first]);
    assert.deepEqual(await getIds('ds_name='), [second, first]);
    assert.deepEqual(await getIds(`input_file_ids=${FILE},%20file-batch-x,`), [first]);
    assert.deepEqual(await getIds('status=failed'), [second]);
    assert.deepEqual(await getIds('status=validating,failed'), [second, first]);
    assert.deepEqual(await getIds('status=validating, completed'), [first]);
    assert.deepEqual(await getIds('create_after=20260701120100'), [second]);
    assert.deepEqual(await getIds('create_before=20260701120000'), [first]);
    nowMs += 30 * 86_400_000;
    assert.deepEqual(await getIds('create_after=20200101000000'), [second]);
  });

  for (const [query, param, message] of [
    ['limit=0', 'limit', /^Range of limit should be \[1, 100\]/],
    ['limit=101', 'limit', /^Range of limit should be \[1, 100\]/],
    ['limit=x', 'limit', /^Range of limit/],
    ['after=nonsense', 'after', /must be the id of a batch/],
    ['after=%00', 'after', /must be the id of a batch/],
    ['status=done', 'status', /^status must be a comma-separated list of validating, .* \(status: "done"\)$/],
    ['status=failed,Completed', 'status', /^status must be a comma-separated list of/],
    ['status=,', 'status', /^status must be a comma-separated list of/],
    ['input_file_ids=,', 'input_file_ids', /1 to 20 comma-separated ids/],
    [
      `input_file_ids=${Array.from({ length: 21 }, (_, at) => `f${at}`).join()}`,
      'input_file_ids',
      /1 to 20 comma-separated ids/,
    ],
    ['create_after=2026-07-01', 'create_after', /must be yyyyMMddHHmmss/],
    ['create_before=20260230000000', 'create_before', /must be yyyyMMddHHmmss/],
  ] as const) {
    test(`rejects ${query.slice(0, 40)}`, async () => {
      const refusal = await callRefused('list', { query });
      assert.deepEqual([refusal.status, refusal.param], [400, param], refusal.message);
      assert.match(refusal.message, message);
    });
  }

  test('names unknown fields', async () => {
    const { headers } = await call('list', { query: 'before=x&order=asc' });
    assert.deepEqual(headers, { 'x-parley-ignored': 'before,order' });
    assert.equal((await callRefused('list', { query: 'before=x' }, true)).status, 400);
  });
});
