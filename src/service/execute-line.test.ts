import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RequestContext } from '../core/context.ts';
import { ServiceError } from '../core/error.ts';
import { REGION_IDS } from '../core/region.ts';
import type { RequestMeasurement } from '../core/telemetry.ts';
import type { KeyRecord } from '../core/key.ts';
import { systemClock } from '../lib/clock.ts';
import type { Endpoint, EndpointRequest, Reply } from '../protocols/endpoint.ts';
import { createExecuteLine } from './execute-line.ts';

const OWNER = { workspace: 'w', region: 'us-east-1', keyId: 'key_1' } as const;
const URL = '/v1/completions';
const KEY: KeyRecord = {
  id: 'key_1',
  region: 'us-east-1',
  workspace: 'w',
  name: '',
  hint: '',
  createdAt: 0,
  expiresAt: undefined,
  revokedAt: undefined,
  usedAt: undefined,
};

type Handle = (request: EndpointRequest, context: RequestContext) => Promise<Reply>;

function createTestExecutor(
  handle: Handle,
  overrides: Partial<Endpoint & { key: KeyRecord | undefined; deadlineMs: number }> = {},
) {
  const { key = KEY, deadlineMs = 60_000, ...endpoint } = { ...overrides };
  const lines: Readonly<Record<string, unknown>>[] = [];
  const measures: RequestMeasurement[] = [];
  const execute = createExecuteLine({
    endpoints: [
      {
        operation: 'completions.create',
        method: 'POST',
        path: '/compatible-mode/v1/completions',
        family: 'compatible',
        regions: REGION_IDS,
        onDisconnect: 'cancel',
        handle,
        ...endpoint,
      },
    ],
    keys: { findActive: async (id) => ('key' in overrides ? overrides.key : id === key.id ? key : undefined) },
    limits: { bodyBytesMax: 1_000, deadlineStreamMs: deadlineMs },
    ids: { createRequestId: () => 'RID' },
    clock: systemClock,
    log: {
      info: (_, fields = {}) => void lines.push(fields),
      warn: () => undefined,
      error: (_, fields = {}) => void lines.push(fields),
    },
    meter: { recordRequest: (measurement) => void measures.push(measurement) },
  });
  const { signal } = new AbortController();
  const lineRequest = { batchId: 'batch_1', url: URL, body: { model: 'm' }, sizeBytes: 500, owner: OWNER, signal };
  return { execute, lines, measures, lineRequest };
}

const succeed: Handle = async () => ({ type: 'json', status: 200, body: { a: 1 } });

describe('createExecuteLine', () => {
  it('calls the endpoint at background priority as the owner of the key', async () => {
    let received: unknown;
    const { execute, lineRequest, lines, measures } = createTestExecutor(
      async ({ body, params, headers, query }, context) => {
        const { requestId, owner, priority, log } = context;
        received = { body, params, headers, query: [...query], requestId, owner, priority };
        log.add({ promptTokens: 3 });
        return { type: 'json', status: 200, body: { a: 1 } };
      },
    );
    assert.deepEqual(await execute(lineRequest), {
      status: 200,
      body: { a: 1 },
      headers: undefined,
      requestId: 'RID',
      error: undefined,
      retryAfterSeconds: undefined,
    });
    const expectedRequest = { body: { model: 'm' }, params: {}, headers: {}, query: [] };
    assert.deepEqual(received, { ...expectedRequest, requestId: 'RID', owner: OWNER, priority: 'background' });
    const { durationMs, ...line } = lines[0] ?? {};
    assert.equal(typeof durationMs, 'number');
    assert.deepEqual(line, {
      requestId: 'RID',
      operation: 'completions.create',
      batch: 'batch_1',
      status: 200,
      kind: 'none',
      param: undefined,
      region: 'us-east-1',
      workspace: 'w',
      keyId: 'key_1',
      promptTokens: 3,
    });
    assert.deepEqual([measures[0]?.operation, measures[0]?.promptTokens], ['completions.create', 3]);
  });

  it('returns the error body, status, code and retry delay of a refused request', async () => {
    const { execute, lineRequest } = createTestExecutor(async () => {
      throw new ServiceError('rate-limited', 'Slowly.', { retryAfterSeconds: 7, param: 'x' });
    });
    const message = 'Requests rate limit exceeded, please try again later. Slowly.';
    assert.deepEqual(await execute(lineRequest), {
      status: 429,
      body: { error: { message, type: 'limit_requests', param: 'x', code: 'limit_requests' }, request_id: 'RID' },
      headers: undefined,
      requestId: 'RID',
      error: { code: 'limit_requests', message },
      retryAfterSeconds: 7,
    });
  });

  it('returns the headers of the endpoint', async () => {
    const headers = { 'x-parley-ignored': 'n' };
    const { execute, lineRequest } = createTestExecutor(async () => ({ type: 'json', status: 200, body: {}, headers }));
    assert.deepEqual((await execute(lineRequest)).headers, headers);
  });

  const neverCalled: Handle = () => assert.fail('the endpoint was called');
  it('answers 401 for a key that is no longer active', async () => {
    const { execute, lineRequest } = createTestExecutor(neverCalled, { key: undefined });
    const { status, error } = await execute(lineRequest);
    assert.deepEqual([status, error?.code], [401, 'invalid_api_key']);
  });

  it('answers 403, 404 or 413 when the endpoint is not offered, does not exist or limits the body', async () => {
    const elsewhere = createTestExecutor(neverCalled, { regions: ['cn-beijing'] });
    assert.equal((await elsewhere.execute(elsewhere.lineRequest)).status, 403);
    const { execute, lineRequest } = createTestExecutor(neverCalled);
    assert.equal((await execute({ ...lineRequest, url: '/v1/nothing' })).status, 404);
    assert.equal((await execute({ ...lineRequest, sizeBytes: 1_001 })).status, 413);
  });

  it('logs the cause of an internal error without returning it', async () => {
    const { execute, lineRequest, lines } = createTestExecutor(async () => {
      throw new Error('secret');
    });
    const answer = await execute(lineRequest);
    assert.equal(answer.status, 500);
    assert.doesNotMatch(JSON.stringify(answer), /secret/);
    const logged = lines[0]?.['error'];
    assert.ok(logged instanceof Error);
    assert.match(String(logged.cause), /secret/);
  });

  it('applies the deadline of live requests', async () => {
    const { execute, lineRequest } = createTestExecutor(() => new Promise(() => undefined), { deadlineMs: 20 });
    const { status, error } = await execute(lineRequest);
    assert.deepEqual([status, error?.code], [504, 'request_timeout']);
  });

  it('rejects when its batch is cancelled, whether or not the endpoint honors the abort', async () => {
    for (const honorsAbort of [true, false]) {
      const batch = new AbortController();
      const { execute, lineRequest, lines } = createTestExecutor((_request, { signal }) =>
        honorsAbort
          ? new Promise((_, reject) => {
              signal.addEventListener('abort', () => reject(new ServiceError('cancelled', '')));
            })
          : new Promise(() => undefined),
      );
      const execution = execute({ ...lineRequest, signal: batch.signal });
      batch.abort('cancelled');
      await execution.then(
        () => assert.fail('the line was answered'),
        (reason: unknown) => assert.equal(reason, 'cancelled'),
      );
      assert.equal(lines[0]?.['kind'], 'cancelled');
    }
  });

  it('refuses responses that are not JSON', async () => {
    const { execute, lineRequest } = createTestExecutor(async () => ({
      type: 'bytes',
      sizeBytes: 0,
      etag: '',
      headers: {},
      open: () => assert.fail(),
    }));
    assert.equal((await execute(lineRequest)).status, 400);
    assert.equal((await createTestExecutor(succeed).execute(lineRequest)).status, 200);
  });
});
