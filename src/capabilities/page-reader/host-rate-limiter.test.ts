import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createHostRateLimiter } from './host-rate-limiter.ts';

const NEVER = new AbortController().signal;

function openLimiter() {
  let now = 0;
  const waits: number[] = [];
  const limiter = createHostRateLimiter({
    clock: { now: () => 0, monotonic: () => now },
    wait: async (ms) => void waits.push(ms),
  });
  return { limiter, waits, later: (ms: number) => void (now += ms) };
}

describe('createHostRateLimiter', () => {
  it('keeps the interval that the host requests between two starts, within limits', async () => {
    const { limiter, waits, later } = openLimiter();
    const enter = async (gapMs: number) => (await limiter.acquire('a', gapMs, NEVER))();
    await enter(0);
    await enter(2_000);
    later(100);
    await enter(999_999);
    await enter(0);
    assert.deepEqual(waits, [500, 2_400, 7_400]);
    later(60_000);
    await enter(0);
    assert.equal(waits.length, 3);
  });

  it('admits two requests per host at a time, independently of other hosts', async () => {
    const { limiter } = openLimiter();
    const [first] = [await limiter.acquire('a', 0, NEVER), await limiter.acquire('a', 0, NEVER)];
    let isIn = false;
    const third = limiter.acquire('a', 0, NEVER).then((leave) => {
      isIn = true;
      return leave;
    });
    await limiter.acquire('b', 0, NEVER);
    assert.equal(isIn, false);
    first();
    await third;
  });

  it('refuses a request when too many wait, and frees the places of aborted ones', async () => {
    const { limiter } = openLimiter();
    const leaves = [await limiter.acquire('a', 0, NEVER), await limiter.acquire('a', 0, NEVER)];
    const caller = new AbortController();
    const waiting = Array.from({ length: 16 }, () =>
      limiter.acquire('a', 0, caller.signal).catch((error: Error) => error.message),
    );
    await assert.rejects(limiter.acquire('a', 0, NEVER), { kind: 'overloaded' });
    caller.abort(new Error('gone'));
    assert.deepEqual(new Set(await Promise.all(waiting)), new Set(['gone']));
    for (const leave of leaves) leave();
    (await limiter.acquire('a', 0, NEVER))();
  });
});
