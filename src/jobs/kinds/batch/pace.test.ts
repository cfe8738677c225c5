import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createPace } from './pace.ts';

const never = new AbortController().signal;

/** A pace whose time goes on by itself: how long it rests, in ms, and how long it rested in all. */
function pacing() {
  let now = 0;
  const pace = createPace({ clock: { monotonic: () => now }, restMsMin: 8, restMsMax: 40 });
  return {
    pace,
    /** Each look at the time is a millisecond later. */
    async rest(): Promise<number> {
      const from = now;
      const clockwork = setInterval(() => (now += 1), 1);
      await pace.ready(never);
      clearInterval(clockwork);
      return now - from;
    },
  };
}

describe('the pace of a batch', () => {
  it('is not held up where nothing was refused', async () => {
    assert.equal(await pacing().rest(), 0);
  });

  it('rests longer with each refusal, up to a bound, and starts anew after an answer', async () => {
    const { pace, rest } = pacing();
    const rests: number[] = [];
    for (let refusals = 0; refusals < 5; refusals += 1) {
      pace.refused(undefined);
      rests.push(await rest());
    }
    // Half of 8, 16, 32 and 40 at least, each.
    for (const [at, least] of [4, 8, 16, 20, 20].entries())
      assert.ok((rests[at] ?? 0) >= least && (rests[at] ?? 0) <= 41, String(rests));
    pace.answered();
    pace.refused(undefined);
    assert.ok((await rest()) <= 9);
  });

  it('rests for as long as a refusal asks, within the bound', async () => {
    const { pace, rest } = pacing();
    pace.refused(0.03);
    const asked = await rest();
    assert.ok(asked >= 30 && asked <= 41, String(asked));
    pace.refused(3_600);
    assert.ok((await rest()) <= 41);
  });

  it('takes what is refused while it rests for one refusal', async () => {
    const { pace, rest } = pacing();
    for (let refusals = 0; refusals < 8; refusals += 1) pace.refused(undefined);
    assert.ok((await rest()) <= 9);
  });

  it('lets go of who does not wait any more', async () => {
    const { pace } = pacing();
    pace.refused(undefined);
    const caller = new AbortController();
    const waiting = pace.ready(caller.signal);
    caller.abort(new Error('gone'));
    await assert.rejects(waiting, /gone/);
  });
});
