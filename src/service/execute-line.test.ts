import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RequestContext } from '../core/context.ts';
import { ServiceError } from '../core/error.ts';
import { REGION_IDS } from '../core/region.ts';
import type { RequestMeasure } from '../core/telemetry.ts';
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
};

type Handle = (request: EndpointRequest, context: RequestContext) => Promise<Reply>;

function executing(
  handle: Handle,
  change: Partial<Endpoint & { key: KeyRecord | undefined; deadlineMs: number }> = {},
) {
  const { key = KEY, deadlineMs = 60_000, ...endpoint } = { ...change };
  const lines: Readonly<Record<string, unknown>>[] = [];
  const measures: RequestMeasure[] = [];
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
    keys: { findActive: async (id) => ('key' in change ? change.key : id === key.id ? key : undefined) },
    limits: { bodyBytesMax: 1_000, deadlineStreamMs: deadlineMs },
    ids: { request: () => 'RID' },
    clock: systemClock,
    log: {
      info: (_, facts = {}) => void lines.push(facts),
      warn: () => undefined,
      error: (_, facts = {}) => void lines.push(facts),
    },
    meter: { requestEnded: (measure) => void measures.push(measure) },
  });
  const { signal } = new AbortController();
  const wish = { batch: 'batch_1', url: URL, body: { model: 'm' }, sizeBytes: 500, owner: OWNER, signal };
  return { execute, lines, measures, wish };
}

const good: Handle = async () => ({ type: 'json', status: 200, body: { a: 1 } });

describe('a line of a batch', () => {
  it('is asked of its endpoint, in the background, as its key’s owner', async () => {
    let seen: unknown;
    const { execute, wish, lines, measures } = executing(async ({ body, params, headers, query }, context) => {
      const { requestId, owner, priority, log } = context;
      seen = { body, params, headers, query: [...query], requestId, owner, priority };
      log.add({ promptTokens: 3 });
      return { type: 'json', status: 200, body: { a: 1 } };
    });
    assert.deepEqual(await execute(wish), {
      status: 200,
      body: { a: 1 },
      headers: undefined,
      requestId: 'RID',
      error: undefined,
      retryAfterSeconds: undefined,
    });
    const asked = { body: { model: 'm' }, params: {}, headers: {}, query: [] };
    assert.deepEqual(seen, { ...asked, requestId: 'RID', owner: OWNER, priority: 'background' });
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

  it('that is refused has the body, status and code that a request has, and when to ask again', async () => {
    const { execute, wish } = executing(async () => {
      throw new ServiceError('rate-limited', 'Slowly.', { retryAfterSeconds: 7, param: 'x' });
    });
    const message = 'Requests rate limit exceeded, please try again later. Slowly.';
    assert.deepEqual(await execute(wish), {
      status: 429,
      body: { error: { message, type: 'limit_requests', param: 'x', code: 'limit_requests' }, request_id: 'RID' },
      headers: undefined,
      requestId: 'RID',
      error: { code: 'limit_requests', message },
      retryAfterSeconds: 7,
    });
  });

  it('keeps what its endpoint says in headers', async () => {
    const headers = { 'x-parley-ignored': 'n' };
    const { execute, wish } = executing(async () => ({ type: 'json', status: 200, body: {}, headers }));
    assert.deepEqual((await execute(wish)).headers, headers);
  });

  const unasked: Handle = () => assert.fail('it was asked');
  it('is not asked for a key that is not valid any more', async () => {
    const { execute, wish } = executing(unasked, { key: undefined });
    const { status, error } = await execute(wish);
    assert.deepEqual([status, error?.code], [401, 'invalid_api_key']);
  });

  it('is not asked where its endpoint is not offered, is not there, or takes no body of its size', async () => {
    const elsewhere = executing(unasked, { regions: ['cn-beijing'] });
    assert.equal((await elsewhere.execute(elsewhere.wish)).status, 403);
    const { execute, wish } = executing(unasked);
    assert.equal((await execute({ ...wish, url: '/v1/nothing' })).status, 404);
    assert.equal((await execute({ ...wish, sizeBytes: 1_001 })).status, 413);
  });

  it('whose answer fails is logged with its reason, which the answer does not have', async () => {
    const { execute, wish, lines } = executing(async () => {
      throw new Error('secret');
    });
    const answer = await execute(wish);
    assert.equal(answer.status, 500);
    assert.doesNotMatch(JSON.stringify(answer), /secret/);
    const logged = lines[0]?.['error'];
    assert.ok(logged instanceof Error);
    assert.match(String(logged.cause), /secret/);
  });

  it('has as long as a request has', async () => {
    const { execute, wish } = executing(() => new Promise(() => undefined), { deadlineMs: 20 });
    const { status, error } = await execute(wish);
    assert.deepEqual([status, error?.code], [500, 'request_timeout']);
  });

  it('that is not wanted any more has no answer, also where its endpoint says something', async () => {
    for (const hears of [true, false]) {
      const batch = new AbortController();
      const { execute, wish, lines } = executing((_request, { signal }) =>
        hears
          ? new Promise((_, reject) => {
              signal.addEventListener('abort', () => reject(new ServiceError('cancelled', '')));
            })
          : new Promise(() => undefined),
      );
      const asked = execute({ ...wish, signal: batch.signal });
      batch.abort('cancelled');
      await asked.then(
        () => assert.fail('it was answered'),
        (reason: unknown) => assert.equal(reason, 'cancelled'),
      );
      assert.equal(lines[0]?.['kind'], 'cancelled');
    }
  });

  it('is answered with JSON or not at all', async () => {
    const { execute, wish } = executing(async () => ({
      type: 'bytes',
      sizeBytes: 0,
      tag: '',
      headers: {},
      open: () => assert.fail(),
    }));
    assert.equal((await execute(wish)).status, 400);
    assert.equal((await executing(good).execute(wish)).status, 200);
  });
});
