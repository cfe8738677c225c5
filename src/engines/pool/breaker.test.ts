import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { ServiceError } from '../../core/error.ts';
import { createStillClock } from './__fixtures__/still-clock.ts';
import { createBreaker } from './breaker.ts';
import type { Breaker, Pass } from './breaker.ts';

const FAILURE = new ServiceError('upstream-failed', 'It failed.');
const BUSY = new ServiceError('overloaded', 'It is busy.');
const TIMES = { backoffMsMin: 1_000, backoffMsMax: 8_000 };

function room(random: () => number = () => 0.999_999) {
  const clock = createStillClock();
  const changes: string[] = [];
  const backoffs: number[] = [];
  const breaker = createBreaker({
    clock,
    random,
    times: TIMES,
    onOpen: (_, backoffMs) => {
      changes.push('open');
      backoffs.push(backoffMs);
    },
    onClose: () => changes.push('close'),
  });
  const fail = (times = 1): void => {
    for (let time = 0; time < times; time++) breaker.enter().failed(FAILURE);
  };
  return { clock, breaker, changes, backoffs, fail };
}

describe('the breaker of an address', () => {
  it('opens with the third failure in a row', () => {
    const { breaker, fail, changes } = room();
    fail(2);
    breaker.enter().succeeded();
    fail(2);
    assert.equal(breaker.state, 'closed');
    assert.equal(breaker.isSuspect, true);
    fail();
    assert.equal(breaker.state, 'open');
    assert.deepEqual(changes, ['open']);
    assert.equal(breaker.why, FAILURE);
  });

  it('opens when half of what it remembers failed, never three in a row', () => {
    const { breaker, fail } = room();
    for (let pair = 0; pair < 9; pair++) {
      fail();
      breaker.enter().succeeded();
    }
    assert.equal(breaker.state, 'closed');
    fail();
    assert.equal(breaker.state, 'open');
  });

  it('forgets failures that are long past by number', () => {
    const { breaker, fail } = room();
    for (let turn = 0; turn < 50; turn++) {
      fail();
      for (let good = 0; good < 2; good++) breaker.enter().succeeded();
    }
    assert.equal(breaker.state, 'closed');
  });

  it('lets one trial pass after its backoff; nothing learned gives the place to the next', () => {
    const { breaker, fail, clock, changes } = room();
    fail(3);
    assert.ok(breaker.waitMs() > 900 && breaker.waitMs() <= 1_000);
    clock.move(1_000);
    assert.equal(breaker.waitMs(), 0);
    const trial = breaker.enter();
    assert.equal(breaker.state, 'trial');
    assert.ok(breaker.waitMs() > 0);
    trial.left();
    assert.equal(breaker.waitMs(), 0);
    const next = breaker.enter();
    next.spoke();
    assert.equal(breaker.state, 'closed');
    assert.equal(breaker.isSuspect, true);
    next.succeeded();
    assert.equal(breaker.isSuspect, false);
    assert.deepEqual(changes, ['open', 'close']);
  });

  it('doubles its backoff with each trial that fails, up to the most, and says so once', () => {
    const { breaker, fail, clock, changes } = room();
    fail(3);
    const waits: number[] = [];
    for (let trial = 0; trial < 6; trial++) {
      waits.push(Math.round(breaker.waitMs()));
      clock.move(breaker.waitMs());
      fail();
    }
    assert.deepEqual(waits, [1_000, 2_000, 4_000, 8_000, 8_000, 8_000]);
    assert.deepEqual(changes, ['open']);
  });

  it('opens with the first failure after a trial that only spoke, and waits longer', () => {
    const { breaker, fail, clock, backoffs } = room();
    fail(3);
    clock.move(1_000);
    const probe = breaker.enter();
    probe.spoke();
    probe.left();
    fail();
    assert.equal(breaker.state, 'open');
    assert.deepEqual(backoffs.map(Math.round), [1_000, 2_000]);
  });

  it('begins with the shortest backoff again after a success', () => {
    const { breaker, fail, clock, backoffs } = room();
    fail(3);
    clock.move(1_000);
    breaker.enter().succeeded();
    fail(3);
    assert.deepEqual(backoffs.map(Math.round), [1_000, 1_000]);
  });

  it('takes up to half of the backoff off at random', () => {
    const { breaker, fail } = room(() => 0);
    fail(3);
    assert.equal(breaker.waitMs(), 500);
  });

  it('rests for as long as it is busy, which is no failure', () => {
    const { breaker, clock, changes } = room();
    breaker.enter().busy(BUSY, 5_000);
    breaker.enter().busy(BUSY, 1_000);
    assert.equal(breaker.waitMs(), 5_000);
    clock.move(5_000);
    assert.equal(breaker.waitMs(), 0);
    assert.equal(breaker.isSuspect, false);
    assert.deepEqual(changes, []);
  });

  it('puts off a trial that found it busy, without a longer backoff', () => {
    const { breaker, fail, clock } = room();
    fail(3);
    clock.move(1_000);
    breaker.enter().busy(BUSY, 3_000);
    assert.equal(breaker.state, 'open');
    assert.equal(breaker.waitMs(), 3_000);
    clock.move(3_000);
    fail();
    assert.equal(Math.round(breaker.waitMs()), 2_000);
  });

  it('does not hear what began before it changed', () => {
    const { breaker, fail, clock } = room();
    const early = [breaker.enter(), breaker.enter(), breaker.enter()];
    fail(3);
    early[0]?.succeeded();
    early[1]?.failed(FAILURE);
    assert.equal(Math.round(breaker.waitMs()), 1_000);
    clock.move(1_000);
    const trial = breaker.enter();
    early[2]?.failed(FAILURE);
    assert.equal(breaker.state, 'trial');
    trial.succeeded();
    assert.equal(breaker.state, 'closed');
  });

  it('has one trial at most, whatever happens in which order', () => {
    type Step =
      | { readonly do: 'enter' }
      | { readonly do: 'move' }
      | { readonly do: 'end'; readonly how: keyof Pass; readonly which: number };
    const step: fc.Arbitrary<Step> = fc.oneof(
      fc.constant<Step>({ do: 'enter' }),
      fc.constant<Step>({ do: 'move' }),
      fc.record({
        do: fc.constant('end' as const),
        how: fc.constantFrom('spoke', 'succeeded', 'failed', 'failed', 'busy', 'left'),
        which: fc.nat(),
      }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const { breaker, clock, changes } = room();
        let open: Pass[] = [];
        let trials = new Set<Pass>();
        let before: Breaker['state'] = breaker.state;
        for (const each of steps) {
          if (each.do === 'move') clock.move(700);
          else if (each.do === 'enter') {
            if (breaker.waitMs() > 0) continue;
            const pass = breaker.enter();
            open.push(pass);
            if (breaker.state === 'trial') {
              assert.equal(trials.size, 0);
              trials.add(pass);
            }
          } else {
            const pass = open[each.which % Math.max(1, open.length)];
            if (!pass) continue;
            if (each.how === 'busy') pass.busy(BUSY, 500);
            else if (each.how === 'failed') pass.failed(FAILURE);
            else pass[each.how]();
            if (each.how !== 'spoke') open = open.filter((other) => other !== pass);
            trials.delete(pass);
          }
          if (breaker.state !== 'trial') trials = new Set();
          else assert.equal(trials.size, 1);
          // It is never in use again but by a trial.
          assert.ok(!(before === 'open' && breaker.state === 'closed'));
          before = breaker.state;
        }
        assert.ok(changes.every((change, at) => change === (at % 2 === 0 ? 'open' : 'close')));
      }),
      { numRuns: 300 },
    );
  });
});
