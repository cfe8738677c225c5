/** A semaphore with a bounded FIFO queue. */
export interface Semaphore {
  /**
   * Waits for a permit.
   * @returns a function that releases the permit.
   * @throws the signal's reason; the error of `createQueueFullError` when the queue is full.
   */
  acquire(signal: AbortSignal): Promise<() => void>;
}

export interface SemaphoreOptions {
  readonly permits: number;
  readonly queueLengthMax: number;
  readonly createQueueFullError: () => Error;
}

export function createSemaphore({ permits, queueLengthMax, createQueueFullError }: SemaphoreOptions): Semaphore {
  const waiting: (() => void)[] = [];
  let taken = 0;
  const release = (): void => {
    const next = waiting.shift();
    if (next) next();
    else taken--;
  };
  return {
    acquire: (signal) =>
      new Promise((resolve, reject) => {
        if (taken < permits) {
          taken++;
          return resolve(release);
        }
        if (waiting.length >= queueLengthMax) return reject(createQueueFullError());
        const grant = (): void => {
          signal.removeEventListener('abort', onAbort);
          resolve(release);
        };
        const onAbort = (): void => {
          waiting.splice(waiting.indexOf(grant), 1);
          reject(signal.reason as Error);
        };
        signal.addEventListener('abort', onAbort, { once: true });
        waiting.push(grant);
      }),
  };
}
