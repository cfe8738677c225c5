import { JOB_RETRY_MS_MAX, JOB_RETRY_MS_MIN } from './limits.ts';
import type { RetryBackoff } from './handler.ts';

const DEFAULT_BACKOFF: RetryBackoff = { minMs: JOB_RETRY_MS_MIN, maxMs: JOB_RETRY_MS_MAX };

/**
 * Computes the delay after `failures` failures in a row, in ms. Up to half of it is subtracted at random, so that jobs
 * that failed together do not retry together.
 *
 * @param random 0 (inclusive) to 1 (exclusive).
 */
export function computeRetryDelayMs(
  failures: number,
  { backoff = DEFAULT_BACKOFF, random }: { backoff?: RetryBackoff | undefined; random: number },
): number {
  const fullDelayMs = Math.min(backoff.maxMs, backoff.minMs * 2 ** Math.max(0, failures - 1));
  return Math.round(fullDelayMs * (1 - random / 2));
}
