import { ServiceError } from '../../core/error.ts';
import { linkedAbort } from '../../lib/linked-abort.ts';
import { unlessAborted } from '../../lib/unless-aborted.ts';

/**
 * Work that is given up when the run is, or when it takes too long; not even work that hears no signal holds the run up.
 *
 * @throws what the work throws; ServiceError `timeout`; or the signal's reason.
 */
export async function withinTime<Result>(
  ms: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const limit = linkedAbort(signal);
  const timer = setTimeout(() => limit.abort(new ServiceError('timeout', 'It took too long.')), ms);
  try {
    limit.signal.throwIfAborted();
    return await unlessAborted(work(limit.signal), limit.signal);
  } finally {
    clearTimeout(timer);
    limit.unlink();
  }
}
