import { ServiceError } from '../../../core/error.ts';
import { createLinkedAbort } from '../../../lib/linked-abort.ts';
import { raceWithAbort } from '../../../lib/race-with-abort.ts';

/**
 * Runs work with a time limit. Rejects as soon as the limit or the signal fires, even when the work ignores its signal.
 *
 * @throws The error of the work, ServiceError `timeout`, or the signal's reason.
 */
export async function runWithTimeout<Result>(
  ms: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const limit = createLinkedAbort(signal);
  const timer = setTimeout(() => limit.abort(new ServiceError('timeout', 'The time limit was exceeded.')), ms);
  try {
    limit.signal.throwIfAborted();
    return await raceWithAbort(work(limit.signal), limit.signal);
  } finally {
    clearTimeout(timer);
    limit.unlink();
  }
}
