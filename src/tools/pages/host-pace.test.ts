import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createHostPace } from './host-pace.ts';

const NEVER = new AbortController().signal;

function paced() {
  let now = 0;
  const waits: number[] = [];
  const pace = createHostPace({
    clock: { now: () => 0, monotonic: () => now },
    wait: async (ms) => void waits.push(ms),
  });
  return { pace, waits, later: (ms: number) => void (now += ms) };
}

describe('the pace of a host', () => {
  it('leaves a gap between two beginnings, as long as the host wishes within bounds', async () => {
    const { pace, waits, later } = paced();
    const enter = async (gapMs: number) => (await pace.enter('a', gapMs, NEVER))();
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

  it('has two at once, and knows hosts apart', async () => {
    const { pace } = paced();
    const [first] = [await pace.enter('a', 0, NEVER), await pace.enter('a', 0, NEVER)];
    let isIn = false;
    const third = pace.enter('a', 0, NEVER).then((leave) => {
      isIn = true;
      return leave;
    });
    await pace.enter('b', 0, NEVER);
    assert.equal(isIn, false);
    first();
    await third;
  });

  it('refuses where too many wait, and forgets who has gone', async () => {
    const { pace } = paced();
    const leaves = [await pace.enter('a', 0, NEVER), await pace.enter('a', 0, NEVER)];
    const caller = new AbortController();
    const waiting = Array.from({ length: 16 }, () =>
      pace.enter('a', 0, caller.signal).catch((error: Error) => error.message),
    );
    await assert.rejects(pace.enter('a', 0, NEVER), { kind: 'overloaded' });
    caller.abort(new Error('gone'));
    assert.deepEqual(new Set(await Promise.all(waiting)), new Set(['gone']));
    for (const leave of leaves) leave();
    (await pace.enter('a', 0, NEVER))();
  });
});
