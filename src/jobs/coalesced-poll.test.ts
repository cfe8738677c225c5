import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createCoalescedPoll } from './coalesced-poll.ts';

describe('createCoalescedPoll', () => {
  it('runs one poll at a time and one more for all triggers meanwhile', async () => {
    const waiting: (() => void)[] = [];
    const coalesced = createCoalescedPoll(() => new Promise((resolve) => void waiting.push(resolve)));
    for (let count = 0; count < 3; count += 1) coalesced.trigger();
    assert.equal(waiting.length, 1);
    coalesced.trigger();
    waiting[0]?.();
    await Promise.resolve();
    await Promise.resolve();
    assert.equal(waiting.length, 2);
    const idle = coalesced.waitUntilIdle();
    waiting[1]?.();
    await idle;
    assert.equal(waiting.length, 2);
    coalesced.trigger();
    assert.equal(waiting.length, 3);
  });

  it('is idle when nothing was triggered', async () => {
    await createCoalescedPoll(() => assert.fail('the poll was not triggered')).waitUntilIdle();
  });
});
