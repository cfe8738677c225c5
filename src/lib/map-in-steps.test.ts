import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers';
import { test } from 'node:test';
import { mapInSteps } from './map-in-steps.ts';

test('maps all items in order, and lets others run between the steps', async () => {
  const seen: (number | string)[] = [];
  setImmediate(() => seen.push('other'));
  const mapped = mapInSteps([1, 2, 3, 4, 5], 2, (item) => {
    seen.push(item);
    return item * 10;
  });
  assert.deepEqual(await mapped, [10, 20, 30, 40, 50]);
  assert.deepEqual(seen, [1, 2, 'other', 3, 4, 5]);
  assert.deepEqual(await mapInSteps([], 2, String), []);
});
