import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import { ServiceError } from '../../core/error.ts';
import { POOL_PROBE_IDLE_MS, POOL_PROBE_MS_MAX, POOL_PROBE_SUSPECT_MS, POOL_PROBE_CONCURRENCY } from './limits.ts';
import { UpstreamError } from '../upstream-error.ts';
import { ANSWER, createTestRequest, createFakeEngine, type FakeOutcome } from './__fixtures__/fake-engine.ts';
import { createRecordedLog } from './__fixtures__/recorded-log.ts';
import { createManualClock } from './__fixtures__/manual-clock.ts';
import { createPool } from './pool.ts';

const never = new AbortController().signal;
const BROKEN: FakeOutcome = { type: 'fail', at: 'start', kind: 'upstream-failed' };

type Probe = (signal: AbortSignal) => Promise<void>;
const succeed: Probe = async () => undefined;
const failProbe: Probe = () => Promise.reject(new ServiceError('upstream-failed', 'It is down.'));

function createTestPool(count: number, first: Probe) {
  const clock = createManualClock();
  const behavior: { outcome: FakeOutcome; probe: Probe } = { outcome: ANSWER, probe: first };
  const probes: number[] = [];
  const starts: number[] = [];
  const pool = createPool({
    endpoints: Array.from({ length: count }, (_, at) => ({
      address: `member-${at}`,
      engine: createFakeEngine(
        { outcome: () => behavior.outcome, onStart: () => void starts.push(at) },
        {
          probe(signal) {
            probes.push(at);
            return behavior.probe(signal);
          },
        },
      ),
    })),
    log: createRecordedLog(),
    clock,
    random: () => 0.5,
    options: { healthIntervalMs: 1_000 },
  });
  /** Advances clocks and timers in steps of a second, and runs pending work. */
  const advance = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= 1_000) {
      clock.advance(Math.min(left, 1_000));
      mock.timers.tick(Math.min(left, 1_000));
      await new Promise((turn) => setImmediate(turn));
    }
  };
  const request = async (): Promise<unknown> =>
    pool.start(createTestRequest(), never).then(
      ({ batches }) => Array.fromAsync(batches),
      (error: unknown) => error,
    );
  const states = (): string[] => pool.describe().map(({ state }) => state);
  return { pool, play: behavior, probes, starts, pass: advance, request, states };
}

describe('health prober', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
  afterEach(() => mock.timers.reset());

  it('closes the breaker of a member when its backoff has passed and a probe succeeds', async () => {
    const { play, probes, pass, request, states, pool } = createTestPool(1, failProbe);
    play.outcome = BROKEN;
    for (let time = 0; time < 3; time++) await request();
    assert.deepEqual(states(), ['down']);
    await pass(10_000);
    // Backoffs of three quarters of 1, 2, 4 and 4 seconds, each until the next check: a single address waits no longer.
    assert.equal(probes.length, 4);
    play.probe = succeed;
    await pass(10_000);
    assert.deepEqual(states(), ['suspect']);
    play.outcome = ANSWER;
    await request();
    assert.deepEqual(states(), ['ready']);
    await pool.close();
  });

  it('makes the half-open attempt itself, so that no request does while another member is in use', async () => {
    const { play, starts, pass, request, states, pool } = createTestPool(2, failProbe);
    play.outcome = BROKEN;
    for (let time = 0; time < 3; time++) await request();
    assert.deepEqual(states(), ['down', 'down']);
    play.probe = succeed;
    await pass(2_000);
    assert.deepEqual(states(), ['suspect', 'suspect']);
    assert.equal(starts.length, 6);
    await pool.close();
  });

  it('probes a member whose last request failed', async () => {
    const { play, probes, pass, request, states, pool } = createTestPool(1, succeed);
    play.outcome = BROKEN;
    await request();
    await pass(POOL_PROBE_SUSPECT_MS - 1_000);
    assert.equal(probes.length, 0);
    play.probe = failProbe;
    await pass(POOL_PROBE_SUSPECT_MS + 1_000);
    assert.equal(probes.length, 2);
    assert.deepEqual(states(), ['down']);
    await pool.close();
  });

  it('counts an ambiguous failure of a probe as a failure, because no request can have caused it', async () => {
    const cause = new UpstreamError('answered 500', 'answered');
    const errs: Probe = () => Promise.reject(new ServiceError('upstream-failed', 'It fails.', { cause }));
    const { probes, pass, request, states, play, pool } = createTestPool(1, errs);
    play.outcome = BROKEN;
    await request();
    await pass(3 * POOL_PROBE_SUSPECT_MS);
    assert.ok(probes.length >= 2);
    assert.deepEqual(states(), ['down']);
    await pool.close();
  });

  it('probes idle members after a long time, and no busy ones', async () => {
    const { probes, pass, request, pool } = createTestPool(1, succeed);
    for (let time = 0; time < 3; time++) {
      await pass(POOL_PROBE_IDLE_MS - 2_000);
      await request();
    }
    assert.equal(probes.length, 0);
    await pass(POOL_PROBE_IDLE_MS + 1_000);
    assert.equal(probes.length, 1);
    await pool.close();
  });

  it('limits parallel probes and the duration of each', async () => {
    const deaf: Probe = () => new Promise(() => undefined);
    const { probes, pass, pool } = createTestPool(POOL_PROBE_CONCURRENCY + 2, deaf);
    await pass(POOL_PROBE_IDLE_MS + 1_000);
    assert.equal(probes.length, POOL_PROBE_CONCURRENCY);
    await pass(POOL_PROBE_MS_MAX);
    assert.equal(new Set(probes).size, POOL_PROBE_CONCURRENCY + 2);
    await pass(2 * POOL_PROBE_MS_MAX);
    assert.ok(pool.describe().some(({ state }) => state === 'suspect'));
    await pool.close();
  });

  it('stops with the pool, including running probes, without counting them as failures', async () => {
    let signal: AbortSignal | undefined;
    const { probes, pass, pool, states } = createTestPool(1, (given) => {
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
