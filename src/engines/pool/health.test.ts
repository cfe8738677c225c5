import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import { ServiceError } from '../../core/error.ts';
import {
  POOL_PROBE_IDLE_MS,
  POOL_PROBE_MS_MAX,
  POOL_PROBE_SUSPECT_MS,
  POOL_PROBES_AT_ONCE,
} from '../../core/limits.ts';
import { ANSWER, ask, createFakeEngine } from './__fixtures__/fake-engine.ts';
import type { Outcome } from './__fixtures__/fake-engine.ts';
import { createRecordedLog } from './__fixtures__/recorded-log.ts';
import { createStillClock } from './__fixtures__/still-clock.ts';
import { createPool } from './pool.ts';

const never = new AbortController().signal;
const BROKEN: Outcome = { type: 'fail', at: 'start', kind: 'upstream-failed' };

type Probe = (signal: AbortSignal) => Promise<void>;
const well: Probe = async () => undefined;
const ill: Probe = () => Promise.reject(new ServiceError('upstream-failed', 'It is down.'));

function room(count: number, first: Probe) {
  const clock = createStillClock();
  const play: { outcome: Outcome; probe: Probe } = { outcome: ANSWER, probe: first };
  const probes: number[] = [];
  const starts: number[] = [];
  const pool = createPool({
    members: Array.from({ length: count }, (_, at) => ({
      address: `member-${at}`,
      engine: createFakeEngine(
        { outcome: () => play.outcome, onStart: () => void starts.push(at) },
        {
          probe(signal) {
            probes.push(at);
            return play.probe(signal);
          },
        },
      ),
    })),
    log: createRecordedLog(),
    clock,
    random: () => 0.5,
    options: { healthMs: 1_000 },
  });
  /** Time goes on, and what it begins has its turn. */
  const pass = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= 1_000) {
      clock.move(Math.min(left, 1_000));
      mock.timers.tick(Math.min(left, 1_000));
      await new Promise((turn) => setImmediate(turn));
    }
  };
  const request = async (): Promise<unknown> =>
    pool.start(ask(), never).then(
      ({ batches }) => Array.fromAsync(batches),
      (error: unknown) => error,
    );
  const states = (): string[] => pool.describe().map(({ state }) => state);
  return { pool, play, probes, starts, pass, request, states };
}

describe('the health checks of a pool', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
  afterEach(() => mock.timers.reset());

  it('put a member back into use when its backoff is over and its probe succeeds', async () => {
    const { play, probes, pass, request, states, pool } = room(1, ill);
    play.outcome = BROKEN;
    for (let time = 0; time < 3; time++) await request();
    assert.deepEqual(states(), ['down']);
    await pass(10_000);
    // Backoffs of three quarters of 1, 2, 4 and 8 seconds, each until the next look.
    assert.equal(probes.length, 3);
    play.probe = well;
    await pass(10_000);
    assert.deepEqual(states(), ['suspect']);
    play.outcome = ANSWER;
    await request();
    assert.deepEqual(states(), ['ready']);
    await pool.close();
  });

  it('take the trial, so that no request is put to a member that can be probed while another is in use', async () => {
    const { play, starts, pass, request, states, pool } = room(2, ill);
    play.outcome = BROKEN;
    for (let time = 0; time < 3; time++) await request();
    assert.deepEqual(states(), ['down', 'down']);
    play.probe = well;
    await pass(2_000);
    assert.deepEqual(states(), ['suspect', 'suspect']);
    assert.equal(starts.length, 6);
    await pool.close();
  });

  it('look after a member whose last request failed', async () => {
    const { play, probes, pass, request, states, pool } = room(1, well);
    play.outcome = BROKEN;
    await request();
    await pass(POOL_PROBE_SUSPECT_MS - 1_000);
    assert.equal(probes.length, 0);
    play.probe = ill;
    await pass(POOL_PROBE_SUSPECT_MS + 1_000);
    assert.equal(probes.length, 2);
    assert.deepEqual(states(), ['down']);
    await pool.close();
  });

  it('leave a member alone that works, and look after one that was idle for long', async () => {
    const { probes, pass, request, pool } = room(1, well);
    for (let time = 0; time < 3; time++) {
      await pass(POOL_PROBE_IDLE_MS - 2_000);
      await request();
    }
    assert.equal(probes.length, 0);
    await pass(POOL_PROBE_IDLE_MS + 1_000);
    assert.equal(probes.length, 1);
    await pool.close();
  });

  it('probe only a few at a time, and wait for none longer than their limit', async () => {
    const deaf: Probe = () => new Promise(() => undefined);
    const { probes, pass, pool } = room(POOL_PROBES_AT_ONCE + 2, deaf);
    await pass(POOL_PROBE_IDLE_MS + 1_000);
    assert.equal(probes.length, POOL_PROBES_AT_ONCE);
    await pass(POOL_PROBE_MS_MAX);
    assert.equal(new Set(probes).size, POOL_PROBES_AT_ONCE + 2);
    await pass(2 * POOL_PROBE_MS_MAX);
    assert.ok(pool.describe().some(({ state }) => state === 'suspect'));
    await pool.close();
  });

  it('stop with the pool, those that run included, and hold that against nobody', async () => {
    let signal: AbortSignal | undefined;
    const { probes, pass, pool, states } = room(1, (given) => {
      signal = given;
      return new Promise(() => undefined);
    });
    await pass(POOL_PROBE_IDLE_MS + 1_000);
    await pool.close();
    assert.equal(signal?.aborted, true);
    await pass(2 * POOL_PROBE_IDLE_MS);
    assert.equal(probes.length, 1);
    assert.deepEqual(states(), ['ready']);
    assert.equal(pool.describe()[0]?.outstanding, 0);
  });
});
