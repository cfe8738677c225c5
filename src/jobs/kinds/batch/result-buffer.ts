import type { BatchLineResult } from '../../../core/batch.ts';
import { BATCH_GROUP_BYTES_MAX, BATCH_GROUP_MS, BATCH_GROUP_RESULTS_MAX } from './limits.ts';

/** Writes results to the store in groups: one transaction per result would dominate the cost of short lines. */
export interface ResultBuffer {
  /**
   * Resolves when there is space for more.
   * @throws the error of an earlier write: later results are not written then.
   */
  add(result: BatchLineResult): Promise<void>;
  /** Resolves when all results are written. @throws as `add`. */
  flush(): Promise<void>;
}

/** @param write Must accept the same results more than once. */
export function createResultBuffer(write: (results: readonly BatchLineResult[]) => Promise<void>): ResultBuffer {
  let waiting: BatchLineResult[] = [];
  let waitingChars = 0;
  let timer: NodeJS.Timeout | undefined;
  let written: Promise<void> = Promise.resolve();

  const flush = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    const results = waiting;
    [waiting, waitingChars] = [[], 0];
    if (results.length > 0) written = written.then(() => write(results));
    return written;
  };

  return {
    async add(result) {
      waiting.push(result);
      waitingChars += result.json.length;
      if (waiting.length >= BATCH_GROUP_RESULTS_MAX || waitingChars >= BATCH_GROUP_BYTES_MAX) {
        await flush();
        return;
      }
      // The next `add` or `flush` reports the error.
      timer ??= setTimeout(() => void flush().catch(() => undefined), BATCH_GROUP_MS);
    },
    flush,
  };
}
