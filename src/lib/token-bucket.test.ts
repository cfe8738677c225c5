import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createTokenBucket } from './token-bucket.ts';

const MINUTE_MS = 60_000;

function createTestBucket(perMinute: number) {
  let now = 0;
  const bucket = createTokenBucket(perMinute, { monotonic: () => now });
  return { bucket, pass: (ms: number) => void (now += ms), now: () => now };
}

/** Consumes the amount only if it is available. */
const consumeIfAvailable = ({ bucket }: ReturnType<typeof createTestBucket>, amount: number): boolean => {
  if (bucket.getSecondsUntil(amount) > 0) return false;
  bucket.consume(amount);
  return true;
};

describe('createTokenBucket', () => {
  it('starts full, refills continuously, and holds at most one minute’s amount', () => {
    const { bucket, pass } = createTestBucket(600);
    assert.equal(bucket.getLevel(), 600);
    bucket.consume(600);
    pass(1_000);
    assert.equal(bucket.getLevel(), 10);
    pass(10 * MINUTE_MS);
    assert.equal(bucket.getLevel(), 600);
  });

  it('returns the time until an amount is available; a full bucket suffices for any amount', () => {
    const { bucket, pass } = createTestBucket(60);
    bucket.consume(60);
    assert.equal(bucket.getSecondsUntil(30), 30);
    assert.equal(bucket.getSecondsUntil(0), 1, 'an amount of 0 needs 1');
    assert.equal(bucket.getSecondsUntil(1_000_000), 60);
    pass(MINUTE_MS);
    assert.equal(bucket.getSecondsUntil(1_000_000), 0);
    bucket.consume(600);
    assert.equal(bucket.getLevel(), -540);
    assert.equal(bucket.getSecondsUntil(1), 541);
  });

  it('never fills with a rate of 0', () => {
    const { bucket, pass } = createTestBucket(0);
    pass(10 * MINUTE_MS);
    assert.equal(bucket.getSecondsUntil(0), Infinity);
  });

  it('changes its rate and keeps its level up to the new maximum', () => {
    const { bucket, pass } = createTestBucket(600);
    bucket.setPerMinute(60);
    assert.equal(bucket.getLevel(), 60);
    bucket.consume(60);
    bucket.setPerMinute(6_000);
    assert.equal(bucket.getLevel(), 0);
    pass(1_000);
    assert.equal(bucket.getLevel(), 100);
  });

  it('holds at most its maximum when more is returned than was consumed', () => {
    const { bucket } = createTestBucket(10);
    bucket.consume(-100);
    assert.equal(bucket.getLevel(), 10);
  });

  const steps = fc.array(
    fc.oneof(
      fc.record({ take: fc.nat({ max: 400 }) }),
      fc.record({ pass: fc.nat({ max: 2 * MINUTE_MS }) }),
      fc.record({ wait: fc.nat({ max: 400 }) }),
    ),
    { maxLength: 50 },
  );

  it('never gives more than one minute’s amount plus the refill, and always gives what is available', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 300 }), steps, (perMinute, all) => {
        const test = createTestBucket(perMinute);
        let given = 0;
        /** The largest amount that a request consumed beyond the bucket's maximum. */
        let owedMax = 0;
        for (const step of all) {
          if ('pass' in step) test.pass(step.pass);
          else if ('take' in step) {
            const { take } = step;
            const level = test.bucket.getLevel();
            const isConsumed = consumeIfAvailable(test, take);
            // Tolerance for floating-point rounding.
            if (isConsumed) assert.ok(level >= Math.min(Math.max(1, take), perMinute) - 1e-6);
            else assert.ok(level < Math.min(Math.max(1, take), perMinute));
            if (isConsumed) given += take;
            if (isConsumed) owedMax = Math.max(owedMax, take - perMinute);
          } else {
            const seconds = test.bucket.getSecondsUntil(step.wait);
            test.pass(seconds * 1000);
            assert.ok(test.bucket.getSecondsUntil(step.wait) < 1e-6, 'the amount is available at the announced time');
          }
          const flowed = (test.now() * perMinute) / MINUTE_MS;
          assert.ok(given <= perMinute + flowed + Math.max(0, owedMax) + 1e-6);
          assert.ok(test.bucket.getLevel() <= perMinute);
        }
      }),
    );
  });
});
