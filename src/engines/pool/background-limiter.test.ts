import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { POOL_BACKGROUND_BESIDE_LIVE_MAX } from './limits.ts';
import type { EngineRequest } from '../engine.ts';
import { ANSWER, createTestRequest, createFakeEngine, type FakeOutcome } from './__fixtures__/fake-engine.ts';
import { createRecordedLog } from './__fixtures__/recorded-log.ts';
import { createManualClock } from './__fixtures__/manual-clock.ts';
import { createPool } from './pool.ts';

const createBackgroundRequest = (id: string): EngineRequest => {
  const request = createTestRequest('Hi', id);
  return { ...request, owner: { ...request.owner, priority: 'background' } };
};

function createTestPool(addresses = 1, memberSequences?: number) {
  let outcome: FakeOutcome = ANSWER;
  const started: string[] = [];
  const engine = createFakeEngine({ outcome: () => outcome, onStart: ({ id }) => void started.push(id) });
  const members = Array.from({ length: addresses }, (_, at) => ({ address: `host-${at}`, engine }));
  const pool = createPool({
    endpoints: members,
    log: createRecordedLog(),
    clock: createManualClock(),
    random: () => 0,
    ...(memberSequences === undefined ? {} : { share: { memberSequences, workspaceShare: 0.5 } }),
  });
  const startRequest = (request: EngineRequest) => {
    const caller = new AbortController();
    return { caller, started: pool.start(request, caller.signal) };
  };
  return { pool, started, begin: startRequest, will: (next: FakeOutcome) => void (outcome = next) };
}

const ids = (count: number, prefix: string): string[] => Array.from({ length: count }, (_, at) => `${prefix}${at}`);

describe('background limiter of a pool', () => {
  it('sends all background requests to an address without live requests', async () => {
    const { pool, started, begin } = createTestPool();
    const names = ids(POOL_BACKGROUND_BESIDE_LIVE_MAX + 5, 'b');
    await Promise.all(names.map((id) => begin(createBackgroundRequest(id)).started));
    assert.deepEqual(started, names);
    await pool.close();
  });

  it('limits background requests per address beside live ones, and starts the others when requests finish', async () => {
    const { pool, started, begin } = createTestPool(2);
    const limit = 2 * POOL_BACKGROUND_BESIDE_LIVE_MAX;
    const live = begin(createTestRequest('Hi', 'live'));
    await live.started;
    const all = ids(limit + 3, 'b').map((id) => begin(createBackgroundRequest(id)));
    await Promise.all(all.slice(0, limit).map((each) => each.started));
    await turn();
    assert.equal(started.length, 1 + limit, 'the others wait');
    const another = await begin(createTestRequest('Hi', 'another')).started;
    assert.equal(started.length, 2 + limit, 'live ones do not');
    await Array.fromAsync((await all[0]?.started)?.batches ?? []);
    await all[limit]?.started;
    await turn();
    assert.equal(started.length, 3 + limit, 'one ended, one followed');
    await Array.fromAsync(another.batches);
    live.caller.abort();
    await Promise.all(all.map((each) => each.started));
    assert.equal(started.length, limit + 5);
    for (const { caller } of all) caller.abort();
    assert.ok(pool.describe().every(({ outstanding }) => outstanding === 0));
    await pool.close();
  });

  it('removes a waiting background request when it is aborted', async () => {
    const { pool, started, begin } = createTestPool();
    await begin(createTestRequest('Hi', 'live')).started;
    const all = ids(POOL_BACKGROUND_BESIDE_LIVE_MAX + 1, 'b').map((id) => begin(createBackgroundRequest(id)));
    const last = all.at(-1);
    last?.caller.abort();
    await assert.rejects(last?.started ?? Promise.resolve(), { kind: 'cancelled' });
    assert.equal(started.length, 1 + POOL_BACKGROUND_BESIDE_LIVE_MAX);
    await pool.close();
  });

  it('does not keep live requests from an address that is busy for background requests', async () => {
    const { pool, begin, will } = createTestPool();
    will({ type: 'fail', at: 'start', kind: 'overloaded', retryAfterSeconds: 30 });
    await assert.rejects(begin(createBackgroundRequest('b')).started, { kind: 'overloaded' });
    will(ANSWER);
    assert.equal(pool.describe()[0]?.state, 'ready');
    await begin(createTestRequest('Hi', 'live')).started;
    await pool.close();
  });

  it('keeps no sequence for requests that it lets wait', async () => {
    const { pool, started, begin, will } = createTestPool(1, 8);
    // An answer that ends returns its sequence, also if nobody reads it.
    will({ type: 'hang', at: 'mid-answer' });
    await begin(createTestRequest('Hi', 'live')).started;
    const background = ids(8, 'b').map((id) => begin(createBackgroundRequest(id)));
    for (const { started: waiting } of background) waiting.catch(() => undefined);
    await turn();
    await Promise.all(ids(4, 'later').map((id) => begin(createTestRequest('Hi', id)).started));
    assert.equal(started.filter((id) => id.startsWith('b')).length, POOL_BACKGROUND_BESIDE_LIVE_MAX);
    for (const { caller } of background) caller.abort();
    await pool.close();
  });
});
