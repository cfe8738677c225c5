import type { Owner } from '../../../core/context.ts';
import { BATCH_LINE_BYTES_MAX, BATCH_RESULT_LOOKUP_LINES } from './limits.ts';
import type { Clock } from '../../../lib/clock.ts';
import { createLinkedAbort } from '../../../lib/linked-abort.ts';
import { parseLine, type BatchLine } from './parse-line.ts';
import { encodeResponse, encodeLineError } from './encode-result.ts';
import type { ExecuteLine } from './execute-line.ts';
import { createBackoff, type BackoffOptions } from './backoff.ts';
import { type InputLine, readLines } from './read-lines.ts';
import type { ResultBuffer } from './result-buffer.ts';
import { createSemaphore, type Semaphore } from '../../../lib/semaphore.ts';

export interface RunLinesOptions {
  readonly batch: { readonly id: string; readonly endpoint: string; readonly owner: Owner };
  readonly input: AsyncIterable<Uint8Array>;
  readonly findDoneLines: (range: { readonly first: number; readonly last: number }) => Promise<ReadonlySet<number>>;
  readonly executeLine: ExecuteLine;
  readonly results: ResultBuffer;
  /** Shared by all batches of the process. */
  readonly semaphore: Semaphore;
  /** Lines of this batch in memory at once: running lines, and rejected lines that wait for a retry. */
  readonly linesInMemoryMax: number;
  readonly clock: Clock;
  readonly createRequestId: () => string;
  readonly backoff?: Omit<BackoffOptions, 'clock'> | undefined;
  readonly signal: AbortSignal;
}

/**
 * Runs the lines that have no result; resolves when all have one. Rejections for lack of capacity (429, 503) are not
 * results: the line waits and is sent again.
 *
 * @throws the signal's reason once running lines have stopped; results received by then are kept.
 */
export async function runLines(options: RunLinesOptions): Promise<void> {
  const { batch, executeLine, results, semaphore, linesInMemoryMax, clock, signal } = options;
  const { id, endpoint: url, owner } = batch;
  const backoff = createBackoff({ clock, ...options.backoff });
  const memorySemaphore = createSemaphore({ permits: linesInMemoryMax });
  const running = new Set<Promise<void>>();
  // The first failure aborts all lines: later results would not be written.
  const all = createLinkedAbort(signal);

  const runLine = async ({ line, customId, body, sizeBytes }: BatchLine, firstRelease: () => void): Promise<void> => {
    for (let release = firstRelease; ;) {
      const request = { batchId: id, url, body, sizeBytes, owner, signal: all.signal };
      const response = await executeLine(request).finally(release);
      if (!isOverloadStatus(response.status)) {
        backoff.reset();
        return await results.add(encodeResponse({ line, customId }, response));
      }
      backoff.recordRejection(response.retryAfterSeconds);
      await backoff.wait(all.signal);
      release = await semaphore.acquire(all.signal);
    }
  };

  const startLine = (batchLine: BatchLine, releaseSlot: () => void, releaseMemory: () => void): void => {
    const work = runLine(batchLine, releaseSlot)
      .catch((error: unknown) => all.abort(error))
      .finally(() => {
        releaseMemory();
        running.delete(work);
      });
    running.add(work);
  };

  /** Starts a line for each slot that the batch gets. A line is read only when it can run. */
  const startPendingLines = async (lines: AsyncIterator<InputLine, void>): Promise<void> => {
    for (;;) {
      const releaseMemory = await memorySemaphore.acquire(all.signal);
      await backoff.wait(all.signal);
      const releaseSlot = await semaphore.acquire(all.signal);
      const next = await lines.next().catch((error: unknown) => {
        releaseSlot();
        throw error;
      });
      const parsed = next.done === true ? undefined : parseLine(next.value, { endpoint: url });
      if (parsed?.type === 'valid') {
        startLine(parsed.batchLine, releaseSlot, releaseMemory);
        continue;
      }
      releaseSlot();
      releaseMemory();
      if (next.done === true || !parsed) return;
      const { customId, error } = parsed;
      await results.add(encodeLineError({ line: next.value.line, customId, id: options.createRequestId() }, error));
    }
  };

  const lines = listUnfinishedLines(options);
  try {
    await startPendingLines(lines);
    await Promise.all(running);
    all.signal.throwIfAborted();
  } finally {
    all.unlink();
    await Promise.all(running);
    await lines.return();
    await results.flush();
  }
}

const isOverloadStatus = (status: number): boolean => status === 429 || status === 503;

/** Yields the lines of a validated input that have no result; validation has stored results for invalid lines. */
export async function* listUnfinishedLines({
  input,
  findDoneLines,
}: Pick<RunLinesOptions, 'input' | 'findDoneLines'>): AsyncGenerator<InputLine, void> {
  let done: ReadonlySet<number> = new Set();
  let knownUntil = 0;
  for await (const each of readLines(input, { lineBytesMax: BATCH_LINE_BYTES_MAX })) {
    if (each.line > knownUntil) {
      knownUntil = each.line + BATCH_RESULT_LOOKUP_LINES - 1;
      done = await findDoneLines({ first: each.line, last: knownUntil });
    }
    if (!done.has(each.line)) yield each;
  }
}
