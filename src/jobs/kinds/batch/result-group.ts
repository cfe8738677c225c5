import type { LineResult } from '../../../core/batch.ts';
import { BATCH_GROUP_BYTES_MAX, BATCH_GROUP_MS, BATCH_GROUP_RESULTS_MAX } from '../../../core/limits.ts';

/** Results on their way to the store, some at a time: a transaction for each would be most of the work of a short line. */
export interface ResultGroup {
  /** Resolves when there is room for more. @throws what went wrong with those before: then none of what comes is kept. */
  add(result: LineResult): Promise<void>;
  /** Resolves when all are written. @throws as `add`. */
  flush(): Promise<void>;
}

/** @param write Has to bear that it is given the same results again. */
export function createResultGroup(write: (results: readonly LineResult[]) => Promise<void>): ResultGroup {
  let waiting: LineResult[] = [];
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
      // Whoever adds or flushes next hears of what went wrong.
      timer ??= setTimeout(() => void flush().catch(() => undefined), BATCH_GROUP_MS);
    },
    flush,
  };
}
