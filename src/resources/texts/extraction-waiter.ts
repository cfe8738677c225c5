import { EXTRACT_WAIT_BYTES_MAX, EXTRACT_WAIT_MS_MAX } from './limits.ts';

/** Lets an upload wait for the extraction of the texts of its files, which runs as a job of the same process. */
export interface ExtractionWaiter {
  /** Reports that the extraction of a file has ended, with or without a text. */
  reportEnd(fileId: string): void;
  /**
   * Waits until the extraction of all files has ended, at most EXTRACT_WAIT_MS_MAX. Does not wait for files above
   * EXTRACT_WAIT_BYTES_MAX. Jobs that run in another process are not seen.
   */
  wait(files: readonly { readonly id: string; readonly sizeBytes: number }[]): Promise<void>;
}

/** @param startTimer Calls a function after a time in ms, unless the returned function is called before. */
export function createExtractionWaiter(startTimer: typeof startSystemTimer = startSystemTimer): ExtractionWaiter {
  const endsById = new Map<string, () => void>();
  return {
    reportEnd: (fileId) => endsById.get(fileId)?.(),
    async wait(files) {
      if (files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) > EXTRACT_WAIT_BYTES_MAX) return;
      const ends = files.map(({ id }) => new Promise<void>((resolve) => void endsById.set(id, resolve)));
      const { promise: timeLimit, resolve } = Promise.withResolvers<void>();
      const stopTimer = startTimer(resolve, EXTRACT_WAIT_MS_MAX);
      await Promise.race([Promise.all(ends), timeLimit]);
      stopTimer();
      for (const { id } of files) endsById.delete(id);
    },
  };
}

function startSystemTimer(run: () => void, ms: number): () => void {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
}
