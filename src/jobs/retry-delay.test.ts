import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { JOB_RETRY_MS_MAX, JOB_RETRY_MS_MIN } from './limits.ts';
import { computeRetryDelayMs } from './retry-delay.ts';

describe('computeRetryDelayMs', () => {
  it('doubles with each failure in a row up to the maximum', () => {
    const delays = [0, 1, 2, 3, 4, 1_000].map((failures) => computeRetryDelayMs(failures, { random: 0 }));
    const first = JOB_RETRY_MS_MIN;
    assert.deepEqual(delays, [first, first, 2 * first, 4 * first, 8 * first, JOB_RETRY_MS_MAX]);
  });

  it('subtracts up to half of the delay at random', () => {
    const backoff = { minMs: 1_000, maxMs: 1_000 };
    assert.deepEqual(
      [0, 0.5, 0.999_999].map((random) => computeRetryDelayMs(1, { backoff, random })),
      [1_000, 750, 500],
    );
  });
});
