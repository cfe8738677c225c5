import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createTokenBucket } from './token-bucket.ts';

const MINUTE_MS = 60_000;

function createRoom(perMinute: number) {
  let now = 0;
  const bucket = createTokenBucket(perMinute, { monotonic: () => now });
  return { bucket, pass: (ms: number) => void (now += ms), now: () => now };
}

/** Takes it where it is there, as whoever holds to a limit does. */
const takeIfThere = ({ bucket }: ReturnType<typeof createRoom>, amount: number): boolean => {
  if (bucket.secondsUntil(amount) > 0) return false;
  bucket.spend(amount);
  return true;
};

describe('a token bucket', () => {
  it('is full at its beginning, refills continuously, and keeps a minute at most', () => {
    const { bucket, pass } = createRoom(600);
    assert.equal(bucket.level(), 600);
    bucket.spend(600);
    pass(1_000);
    assert.equal(bucket.level(), 10);
    pass(10 * MINUTE_MS);
    assert.equal(bucket.level(), 600);
  });

  it('tells when there is enough, and more than it holds is there when it is full', () => {
    const { bucket, pass } = createRoom(60);
    bucket.spend(60);
    assert.equal(bucket.secondsUntil(30), 30);
    assert.equal(bucket.secondsUntil(0), 1, 'any at all');
    assert.equal(bucket.secondsUntil(1_000_000), 60);
    pass(MINUTE_MS);
    assert.equal(bucket.secondsUntil(1_000_000), 0);
    bucket.spend(600);
    assert.equal(bucket.level(), -540);
    assert.equal(bucket.secondsUntil(1), 541);
  });

  it('of nothing a minute never has any', () => {
    const { bucket, pass } = createRoom(0);
    pass(10 * MINUTE_MS);
    assert.equal(bucket.secondsUntil(0), Infinity);
  });

  it('takes up another rate, and keeps what is there as far as there is room', () => {
    const { bucket, pass } = createRoom(600);
    bucket.setPerMinute(60);
    assert.equal(bucket.level(), 60);
    bucket.spend(60);
    bucket.setPerMinute(6_000);
    assert.equal(bucket.level(), 0);
    pass(1_000);
    assert.equal(bucket.level(), 100);
  });

  it('is as full as before where more is given back than was taken', () => {
    const { bucket } = createRoom(10);
    bucket.spend(-100);
    assert.equal(bucket.level(), 10);
  });

  const steps = fc.array(
    fc.oneof(
      fc.record({ take: fc.nat({ max: 400 }) }),
      fc.record({ pass: fc.nat({ max: 2 * MINUTE_MS }) }),
      fc.record({ wait: fc.nat({ max: 400 }) }),
    ),
    { maxLength: 50 },
  );

  it('never gives more than a minute and what has flowed in since, nor keeps back what is there', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 300 }), steps, (perMinute, all) => {
        const room = createRoom(perMinute);
        let given = 0;
        /** All that one request took beyond what the bucket can hold: it is owed. */
        let owedMax = 0;
        for (const step of all) {
          if ('pass' in step) room.pass(step.pass);
          else if ('take' in step) {
            const { take } = step;
            const level = room.bucket.level();
            const isThere = takeIfThere(room, take);
            // A step of a double may be missing.
            if (isThere) assert.ok(level >= Math.min(Math.max(1, take), perMinute) - 1e-6);
            else assert.ok(level < Math.min(Math.max(1, take), perMinute));
            if (isThere) given += take;
            if (isThere) owedMax = Math.max(owedMax, take - perMinute);
          } else {
            const seconds = room.bucket.secondsUntil(step.wait);
            room.pass(seconds * 1000);
            assert.ok(room.bucket.secondsUntil(step.wait) < 1e-6, 'it is there when it was told to be');
          }
          const flowed = (room.now() * perMinute) / MINUTE_MS;
          assert.ok(given <= perMinute + flowed + Math.max(0, owedMax) + 1e-6);
          assert.ok(room.bucket.level() <= perMinute);
        }
      }),
    );
  });
});
