import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, mock, test } from 'node:test';
import { startHeartbeat } from './heartbeat.ts';

const INTERVAL_MS = 1_000;

/** Starts a heartbeat with a check whose results the test gives: true for a response. */
function createTestHeartbeat(results: boolean[], lostMax = 2) {
  const counts = { checks: 0, lost: 0 };
  const stop = startHeartbeat({
    check: async () => {
      counts.checks += 1;
      if (results.shift() !== true) throw new Error('no response');
    },
    intervalMs: INTERVAL_MS,
    lostMax,
    onLost: () => void (counts.lost += 1),
  });
  /** Lets the time until the next check pass, and the check settle. */
  const pass = async (ms = INTERVAL_MS): Promise<void> => {
    mock.timers.tick(ms);
    for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
  };
  return { counts, stop, pass };
}

describe('startHeartbeat', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
  afterEach(() => mock.timers.reset());

  test('checks once per interval, the first time after one interval', async () => {
    const { counts, pass, stop } = createTestHeartbeat([true, true]);
    await pass(INTERVAL_MS - 1);
    assert.equal(counts.checks, 0);
    await pass(1);
    await pass();
    assert.deepEqual(counts, { checks: 2, lost: 0 });
    stop();
  });

  test('is lost after consecutive failures, once, and then stops to check', async () => {
    const { counts, pass } = createTestHeartbeat([false, true, false, false]);
    for (let at = 0; at < 3; at += 1) await pass();
    assert.equal(counts.lost, 0, 'a response in between resets the count');
    for (let at = 0; at < 3; at += 1) await pass();
    assert.deepEqual(counts, { checks: 4, lost: 1 });
  });

  test('does nothing after it was stopped, not even for a check in progress', async () => {
    const { counts, pass, stop } = createTestHeartbeat([], 1);
    mock.timers.tick(INTERVAL_MS);
    stop();
    await pass();
    await pass();
    assert.deepEqual(counts, { checks: 1, lost: 0 });
  });
});
