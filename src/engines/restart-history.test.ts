import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  addExit,
  addReadyChild,
  addSteadyRun,
  FAILED_STARTS_MAX,
  getBackoffMs,
  isFailing,
  NO_EXITS,
  type RestartHistory,
} from './restart-history.ts';

const TIMES = { backoffMsMin: 100, backoffMsMax: 1_000 };

const addExits = (count: number, wasReady: boolean, history: RestartHistory = NO_EXITS): RestartHistory =>
  Array.from({ length: count }).reduce<RestartHistory>((before) => addExit(before, { wasReady }), history);

describe('the restart history', () => {
  it('fails after consecutive starts that never became ready', () => {
    assert.equal(isFailing(addExits(FAILED_STARTS_MAX - 1, false)), false);
    assert.equal(isFailing(addExits(FAILED_STARTS_MAX, false)), true);
  });

  it('does not count exits of children that were ready as failed starts', () => {
    assert.equal(isFailing(addExits(FAILED_STARTS_MAX, true)), false);
    assert.equal(isFailing(addExits(1, false, addExits(FAILED_STARTS_MAX - 1, true))), false);
  });

  it('recovers when a child is ready', () => {
    assert.equal(isFailing(addReadyChild(addExits(FAILED_STARTS_MAX, false))), false);
  });

  it('replaces a child that ran at once, and doubles the backoff with each further exit up to its limit', () => {
    const delays = [1, 2, 3, 4, 5, 6].map((count) => getBackoffMs(addExits(count, true), TIMES));
    assert.deepEqual(delays, [0, 200, 400, 800, 1_000, 1_000]);
    assert.equal(getBackoffMs(addExits(1, false), TIMES), 100, 'a start that failed');
  });

  it('resets the backoff after a steady run only', () => {
    const exits = addExits(4, true);
    assert.equal(getBackoffMs(addExit(addReadyChild(exits), { wasReady: true }), TIMES), 1_000);
    assert.equal(getBackoffMs(addExit(addSteadyRun(exits), { wasReady: true }), TIMES), 0);
  });
});
