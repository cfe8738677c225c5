import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createBackoff } from './backoff.ts';

const never = new AbortController().signal;

/** Creates a backoff with a fast clock; `measureDelay` returns how long it delays, in ms of that clock. */
function createTestBackoff() {
  let now = 0;
  const backoff = createBackoff({ clock: { monotonic: () => now }, delayMsMin: 8, delayMsMax: 40 });
  return {
    backoff,
    /** The clock advances by 1 ms per timer tick. */
    async measureDelay(): Promise<number> {
      const from = now;
      const timer = setInterval(() => (now += 1), 1);
      await backoff.wait(never);
      clearInterval(timer);
      return now - from;
    },
  };
}

describe('createBackoff', () => {
  it('does not delay without a rejection', async () => {
    assert.equal(await createTestBackoff().measureDelay(), 0);
  });

  it('doubles the delay with each rejection up to the maximum and restarts after a success', async () => {
    const { backoff, measureDelay } = createTestBackoff();
    const delays: number[] = [];
    for (let rejections = 0; rejections < 5; rejections += 1) {
      backoff.recordRejection(undefined);
      delays.push(await measureDelay());
    }
    // At least half of 8, 16, 32 and 40 ms.
    for (const [at, least] of [4, 8, 16, 20, 20].entries())
      assert.ok((delays[at] ?? 0) >= least && (delays[at] ?? 0) <= 41, String(delays));
    backoff.reset();
    backoff.recordRejection(undefined);
    assert.ok((await measureDelay()) <= 9);
  });

  it('delays as long as a rejection requests, within the maximum', async () => {
    const { backoff, measureDelay } = createTestBackoff();
    backoff.recordRejection(0.03);
    const requested = await measureDelay();
    assert.ok(requested >= 30 && requested <= 41, String(requested));
    backoff.recordRejection(3_600);
    assert.ok((await measureDelay()) <= 41);
  });

  it('counts rejections during a delay as one', async () => {
    const { backoff, measureDelay } = createTestBackoff();
    for (let rejections = 0; rejections < 8; rejections += 1) backoff.recordRejection(undefined);
    assert.ok((await measureDelay()) <= 9);
  });

  it('stops waiting when the signal aborts', async () => {
    const { backoff } = createTestBackoff();
    backoff.recordRejection(undefined);
    const caller = new AbortController();
    const waiting = backoff.wait(caller.signal);
    caller.abort(new Error('gone'));
    await assert.rejects(waiting, /gone/);
  });
});
