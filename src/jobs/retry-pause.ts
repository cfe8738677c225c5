import { JOB_RETRY_MS_MAX, JOB_RETRY_MS_MIN } from '../core/limits.ts';
import type { RetryPace } from './handler.ts';

const PACE: RetryPace = { firstMs: JOB_RETRY_MS_MIN, mostMs: JOB_RETRY_MS_MAX };

/**
 * How long a job waits after so many failures in a row, in ms. Up to a half of it is left to chance: what failed together
 * does not come back together.
 *
 * @param random From 0 to below 1.
 */
export function retryPause(
  failures: number,
  { pace = PACE, random }: { pace?: RetryPace | undefined; random: number },
): number {
  const whole = Math.min(pace.mostMs, pace.firstMs * 2 ** Math.max(0, failures - 1));
  return Math.round(whole * (1 - random / 2));
}
