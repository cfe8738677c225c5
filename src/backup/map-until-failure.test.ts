import assert from 'node:assert/strict';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { it } from 'node:test';
import { mapUntilFailure } from './map-until-failure.ts';

it('rejects when the running items have ended, and starts no more', async () => {
  const events: string[] = [];
  const failure = new Error('disk');
  const mapped = mapUntilFailure([0, 1, 2, 3, 4], 2, async (item) => {
    events.push(`start ${item}`);
    if (item === 1) throw failure;
    for (let turn = 0; turn < 5; turn += 1) await yieldToEventLoop();
    events.push(`end ${item}`);
  });
  await assert.rejects(mapped, failure);
  assert.deepEqual(events, ['start 0', 'start 1', 'end 0']);
});

it('returns the results in order', async () => {
  assert.deepEqual(await mapUntilFailure([1, 2, 3], 2, (item) => Promise.resolve(item * 2)), [2, 4, 6]);
});
