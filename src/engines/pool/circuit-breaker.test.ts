import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { scalePropertyRuns } from '../../../test/property-runs.ts';
import { ServiceError } from '../../core/error.ts';
import { POOL_LAST_RESORT_INTERVAL_MS } from './limits.ts';
import { createManualClock } from './__fixtures__/manual-clock.ts';
import { createCircuitBreaker, type CircuitBreaker, type BreakerAttempt } from './circuit-breaker.ts';

const FAILURE = new ServiceError('upstream-failed', 'It failed.');
const BUSY = new ServiceError('overloaded', 'It is busy.');
const BACKOFF = { backoffMsMin: 1_000, backoffMsMax: 8_000 };

function createTestBreaker(random: () => number = () => 0.999_999) {
  const clock = createManualClock();
  const changes: string[] = [];
  const backoffs: number[] = [];
  const breaker = createCircuitBreaker({
    clock,
    random,
    backoff: BACKOFF,
    onOpen: (_, backoffMs) => {
      changes.push('open');
      backoffs.push(backoffMs);
    },
    onClose: () => changes.push('close'),
  });
  const fail = (times = 1): void => {
    for (let time = 0; time < times; time++) breaker.startAttempt().recordFailure(FAILURE);
  };
  return { clock, breaker, changes, backoffs, fail };
}

describe('circuit breaker', () => {
  it('opens with the third failure in a row', () => {
    const { breaker, fail, changes } = createTestBreaker();
    fail(2);
    breaker.startAttempt().recordSuccess();
    fail(2);
    assert.equal(breaker.state, 'closed');
    assert.equal(breaker.isSuspect, true);
    fail();
    assert.equal(breaker.state, 'open');
    assert.deepEqual(changes, ['open']);
    assert.equal(breaker.lastError, FAILURE);
  });

  it('opens when half of the recent outcomes are failures, even without three in a row', () => {
    const { breaker, fail } = createTestBreaker();
    for (let pair = 0; pair < 9; pair++) {
      fail();
      breaker.startAttempt().recordSuccess();
    }
    assert.equal(breaker.state, 'closed');
    fail();
    assert.equal(breaker.state, 'open');
  });

  it('forgets failures outside the window of recent outcomes', () => {
    const { breaker, fail } = createTestBreaker();
    for (let turn = 0; turn < 50; turn++) {
      fail();
      for (let good = 0; good < 2; good++) breaker.startAttempt().recordSuccess();
    }
    assert.equal(breaker.state, 'closed');
  });

  it('allows one half-open attempt after the backoff, and another one after a canceled attempt', () => {
    const { breaker, fail, clock, changes } = createTestBreaker();
    fail(3);
    assert.ok(breaker.getWaitMs() > 900 && breaker.getWaitMs() <= 1_000);
    clock.advance(1_000);
    assert.equal(breaker.getWaitMs(), 0);
    const attempt = breaker.startAttempt();
    assert.equal(breaker.state, 'half-open');
    assert.ok(breaker.getWaitMs() > 0);
    attempt.cancel();
    assert.equal(breaker.getWaitMs(), 0);
    const next = breaker.startAttempt();
    next.recordOutput();
    assert.equal(breaker.state, 'closed');
    assert.equal(breaker.isSuspect, true);
    next.recordSuccess();
    assert.equal(breaker.isSuspect, false);
    assert.deepEqual(changes, ['open', 'close']);
  });

  it('doubles the backoff with each failed half-open attempt up to the maximum, and reports opening once', () => {
    const { breaker, fail, clock, changes } = createTestBreaker();
    fail(3);
    const waits: number[] = [];
    for (let trial = 0; trial < 6; trial++) {
      waits.push(Math.round(breaker.getWaitMs()));
      clock.advance(breaker.getWaitMs());
      fail();
    }
    assert.deepEqual(waits, [1_000, 2_000, 4_000, 8_000, 8_000, 8_000]);
    assert.deepEqual(changes, ['open']);
  });

  it('opens with the first failure after a half-open attempt that only had output, and backs off longer', () => {
    const { breaker, fail, clock, backoffs } = createTestBreaker();
    fail(3);
    clock.advance(1_000);
    const probe = breaker.startAttempt();
    probe.recordOutput();
    probe.cancel();
    fail();
    assert.equal(breaker.state, 'open');
    assert.deepEqual(backoffs.map(Math.round), [1_000, 2_000]);
  });

  it('restarts with the shortest backoff after a success', () => {
    const { breaker, fail, clock, backoffs } = createTestBreaker();
    fail(3);
    clock.advance(1_000);
    breaker.startAttempt().recordSuccess();
    fail(3);
    assert.deepEqual(backoffs.map(Math.round), [1_000, 1_000]);
  });

  it('reduces the backoff by up to half at random', () => {
    const { breaker, fail } = createTestBreaker(() => 0);
    fail(3);
    assert.equal(breaker.getWaitMs(), 500);
  });

  it('pauses while the address is busy, without counting a failure', () => {
    const { breaker, clock, changes } = createTestBreaker();
    breaker.startAttempt().recordBusy(BUSY, 5_000);
    breaker.startAttempt().recordBusy(BUSY, 1_000);
    assert.equal(breaker.getWaitMs(), 5_000);
    clock.advance(5_000);
    assert.equal(breaker.getWaitMs(), 0);
    assert.equal(breaker.isSuspect, false);
    assert.deepEqual(changes, []);
  });

  it('delays the next attempt after a busy half-open attempt, without a longer backoff', () => {
    const { breaker, fail, clock } = createTestBreaker();
    fail(3);
    clock.advance(1_000);
    breaker.startAttempt().recordBusy(BUSY, 3_000);
    assert.equal(breaker.state, 'open');
    assert.equal(breaker.getWaitMs(), 3_000);
    clock.advance(3_000);
    fail();
    assert.equal(Math.round(breaker.getWaitMs()), 2_000);
  });

  it('ignores results of attempts that started before the state changed', () => {
    const { breaker, fail, clock } = createTestBreaker();
    const early = [breaker.startAttempt(), breaker.startAttempt(), breaker.startAttempt()];
    fail(3);
    early[0]?.recordSuccess();
    early[1]?.recordFailure(FAILURE);
    assert.equal(Math.round(breaker.getWaitMs()), 1_000);
    clock.advance(1_000);
    const attempt = breaker.startAttempt();
    early[2]?.recordFailure(FAILURE);
    assert.equal(breaker.state, 'half-open');
    attempt.recordSuccess();
    assert.equal(breaker.state, 'closed');
  });

  it('stays closed for ambiguous failures of one caller, and opens for those of six callers', () => {
    const { breaker } = createTestBreaker();
    for (let time = 0; time < 100; time++) breaker.startAttempt().recordAmbiguousFailure(FAILURE, 'one');
    assert.equal(breaker.state, 'closed');
    for (const caller of ['two', 'three', 'four', 'five'])
      breaker.startAttempt().recordAmbiguousFailure(FAILURE, caller);
    assert.equal(breaker.state, 'closed');
    assert.equal(breaker.isSuspect, true);
    breaker.startAttempt().recordAmbiguousFailure(FAILURE, 'six');
    assert.equal(breaker.state, 'open');
  });

  it('adds ambiguous failures to other failures, and forgets them with a success', () => {
    const { breaker, fail } = createTestBreaker();
    fail(2);
    breaker.startAttempt().recordAmbiguousFailure(FAILURE, 'one');
    breaker.startAttempt().recordSuccess();
    for (const caller of ['one', 'two']) breaker.startAttempt().recordAmbiguousFailure(FAILURE, caller);
    fail();
    assert.equal(breaker.state, 'closed');
    fail();
    assert.equal(breaker.state, 'open');
  });

  it('remembers failures, however many ambiguous failures of one caller follow', () => {
    const { breaker, fail } = createTestBreaker();
    for (let pair = 0; pair < 9; pair++) {
      fail();
      breaker.startAttempt().recordSuccess();
    }
    for (let time = 0; time < 30; time++) breaker.startAttempt().recordAmbiguousFailure(FAILURE, 'one');
    fail();
    assert.equal(breaker.state, 'open');
  });

  it('keeps its state and backoff after an ambiguous failure of a half-open attempt', () => {
    const { breaker, fail, clock } = createTestBreaker();
    fail(3);
    clock.advance(1_000);
    for (let time = 0; time < 5; time++) {
      breaker.startAttempt().recordAmbiguousFailure(FAILURE, 'one');
      assert.equal(breaker.getWaitMs(), 1_000);
      clock.advance(1_000);
    }
    const attempt = breaker.startAttempt();
    attempt.recordOutput();
    attempt.recordAmbiguousFailure(FAILURE, 'one');
    assert.equal(breaker.state, 'closed');
  });

  it('allows a few last-resort attempts per second beside a hanging attempt, and closes with the first that succeeds', () => {
    const { breaker, fail, clock } = createTestBreaker();
    fail(3);
    assert.equal(breaker.getLastResortWaitMs(), POOL_LAST_RESORT_INTERVAL_MS);
    clock.advance(POOL_LAST_RESORT_INTERVAL_MS);
    assert.equal(breaker.getLastResortWaitMs(), 0);
    const hanging = breaker.startAttempt();
    assert.equal(breaker.getLastResortWaitMs(), POOL_LAST_RESORT_INTERVAL_MS);
    clock.advance(POOL_LAST_RESORT_INTERVAL_MS);
    const answered = breaker.startAttempt();
    hanging.recordFailure(FAILURE);
    assert.equal(breaker.state, 'open');
    answered.recordSuccess();
    assert.equal(breaker.state, 'closed');
  });

  it('allows no last-resort attempt while the address is busy', () => {
    const { breaker, fail, clock } = createTestBreaker();
    fail(3);
    clock.advance(1_000);
    breaker.startAttempt().recordBusy(BUSY, 3_000);
    assert.equal(breaker.getLastResortWaitMs(), 3_000);
  });

  it('has at most one half-open attempt in any sequence of calls', () => {
    type Step =
      | { readonly do: 'enter' }
      | { readonly do: 'move' }
      | { readonly do: 'end'; readonly how: keyof BreakerAttempt; readonly which: number };
    const step: fc.Arbitrary<Step> = fc.oneof(
      fc.constant<Step>({ do: 'enter' }),
      fc.constant<Step>({ do: 'move' }),
      fc.record({
        do: fc.constant('end' as const),
        how: fc.constantFrom(
          'recordOutput',
          'recordSuccess',
          'recordFailure',
          'recordFailure',
          'recordAmbiguousFailure',
          'recordBusy',
          'cancel',
        ),
        which: fc.nat(),
      }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const { breaker, clock, changes } = createTestBreaker();
        let open: BreakerAttempt[] = [];
        let halfOpenAttempts = new Set<BreakerAttempt>();
        let before: CircuitBreaker['state'] = breaker.state;
        for (const each of steps) {
          if (each.do === 'move') clock.advance(700);
          else if (each.do === 'enter') {
            if (breaker.getWaitMs() > 0) continue;
            const pass = breaker.startAttempt();
            open.push(pass);
            if (breaker.state === 'half-open') {
              assert.equal(halfOpenAttempts.size, 0);
              halfOpenAttempts.add(pass);
            }
          } else {
            const attempt = open[each.which % Math.max(1, open.length)];
            if (!attempt) continue;
            if (each.how === 'recordBusy') attempt.recordBusy(BUSY, 500);
            else if (each.how === 'recordFailure') attempt.recordFailure(FAILURE);
            else if (each.how === 'recordAmbiguousFailure')
              attempt.recordAmbiguousFailure(FAILURE, `${each.which % 9}`);
            else attempt[each.how]();
            if (each.how !== 'recordOutput') open = open.filter((other) => other !== attempt);
            halfOpenAttempts.delete(attempt);
          }
          if (breaker.state !== 'half-open') halfOpenAttempts = new Set();
          else assert.equal(halfOpenAttempts.size, 1);
          // It closes only after a half-open attempt.
          assert.ok(!(before === 'open' && breaker.state === 'closed'));
          before = breaker.state;
        }
        assert.ok(changes.every((change, at) => change === (at % 2 === 0 ? 'open' : 'close')));
      }),
      { numRuns: scalePropertyRuns(300) },
    );
  });
});
