import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { JOB_RETRY_MS_MAX, JOB_RETRY_MS_MIN } from '../core/limits.ts';
import { retryPause } from './retry-pause.ts';

describe('the pause before a failed job is tried again', () => {
  it('doubles with each failure in a row, up to a longest one', () => {
    const pauses = [0, 1, 2, 3, 4, 1_000].map((failures) => retryPause(failures, { random: 0 }));
    const first = JOB_RETRY_MS_MIN;
    assert.deepEqual(pauses, [first, first, 2 * first, 4 * first, 8 * first, JOB_RETRY_MS_MAX]);
  });

  it('leaves up to a half of it to chance', () => {
    const pace = { firstMs: 1_000, mostMs: 1_000 };
    assert.deepEqual(
      [0, 0.5, 0.999_999].map((random) => retryPause(1, { pace, random })),
      [1_000, 750, 500],
    );
  });
});
