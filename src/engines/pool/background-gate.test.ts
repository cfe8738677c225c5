import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { POOL_BACKGROUND_BESIDE_LIVE_MAX } from '../../core/limits.ts';
import type { EngineRequest } from '../engine.ts';
import { ANSWER, ask, createFakeEngine } from './__fixtures__/fake-engine.ts';
import type { Outcome } from './__fixtures__/fake-engine.ts';
import { createRecordedLog } from './__fixtures__/recorded-log.ts';
import { createStillClock } from './__fixtures__/still-clock.ts';
import { createPool } from './pool.ts';

const behind = (id: string): EngineRequest => {
  const request = ask('Hi', id);
  return { ...request, owner: { ...request.owner, priority: 'background' } };
};

function room(addresses = 1) {
  let outcome: Outcome = ANSWER;
  const started: string[] = [];
  const engine = createFakeEngine({ outcome: () => outcome, onStart: ({ id }) => void started.push(id) });
  const members = Array.from({ length: addresses }, (_, at) => ({ address: `host-${at}`, engine }));
  const pool = createPool({ members, log: createRecordedLog(), clock: createStillClock(), random: () => 0 });
  const begin = (request: EngineRequest) => {
    const caller = new AbortController();
    return { caller, started: pool.start(request, caller.signal) };
  };
  return { pool, started, begin, will: (next: Outcome) => void (outcome = next) };
}

const ids = (count: number, prefix: string): string[] => Array.from({ length: count }, (_, at) => `${prefix}${at}`);

describe('background requests of a pool', () => {
  it('all go to an address that works on no live one', async () => {
    const { pool, started, begin } = room();
    const names = ids(POOL_BACKGROUND_BESIDE_LIVE_MAX + 5, 'b');
    await Promise.all(names.map((id) => begin(behind(id)).started));
    assert.deepEqual(started, names);
    await pool.close();
  });

  it('are few for each address beside live ones, and the others follow when these end or the live ones do', async () => {
    const { pool, started, begin } = room(2);
    const few = 2 * POOL_BACKGROUND_BESIDE_LIVE_MAX;
    const live = begin(ask('Hi', 'live'));
    await live.started;
    const all = ids(few + 3, 'b').map((id) => begin(behind(id)));
    await Promise.all(all.slice(0, few).map((each) => each.started));
    await turn();
    assert.equal(started.length, 1 + few, 'the others wait');
    const another = await begin(ask('Hi', 'another')).started;
    assert.equal(started.length, 2 + few, 'live ones do not');
    await Array.fromAsync((await all[0]?.started)?.batches ?? []);
    await all[few]?.started;
    await turn();
    assert.equal(started.length, 3 + few, 'one ended, one followed');
    await Array.fromAsync(another.batches);
    live.caller.abort();
    await Promise.all(all.map((each) => each.started));
    assert.equal(started.length, few + 5);
    for (const { caller } of all) caller.abort();
    assert.ok(pool.describe().every(({ outstanding }) => outstanding === 0));
    await pool.close();
  });

  it('can be given up while they wait', async () => {
    const { pool, started, begin } = room();
    await begin(ask('Hi', 'live')).started;
    const all = ids(POOL_BACKGROUND_BESIDE_LIVE_MAX + 1, 'b').map((id) => begin(behind(id)));
    const last = all.at(-1);
    last?.caller.abort();
    await assert.rejects(last?.started ?? Promise.resolve(), { kind: 'cancelled' });
    assert.equal(started.length, 1 + POOL_BACKGROUND_BESIDE_LIVE_MAX);
    await pool.close();
  });

  it('that an address has no room for do not keep live ones off it', async () => {
    const { pool, begin, will } = room();
    will({ type: 'fail', at: 'start', kind: 'overloaded', retryAfterSeconds: 30 });
    await assert.rejects(begin(behind('b')).started, { kind: 'overloaded' });
    will(ANSWER);
    assert.equal(pool.describe()[0]?.state, 'ready');
    await begin(ask('Hi', 'live')).started;
    await pool.close();
  });
});
