/** Semaphore with an unbounded FIFO queue: batches that each wait for one permit at a time share the permits evenly. */
export interface LineSemaphore {
  /** @returns a function that releases the permit; further calls have no effect. @throws the signal's reason. */
  acquire(signal: AbortSignal): Promise<() => void>;
}

export function createLineSemaphore(count: number): LineSemaphore {
  let free = count;
  const waiting: (() => void)[] = [];

  const createRelease = (): (() => void) => {
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      free += 1;
      waiting.shift()?.();
    };
  };

  return {
    async acquire(signal) {
      signal.throwIfAborted();
      if (free > 0) {
        free -= 1;
        return createRelease();
      }
      return await new Promise<() => void>((resolve, reject) => {
        const onAbort = (): void => {
          waiting.splice(waiting.indexOf(grant), 1);
          reject(signal.reason);
        };
        const grant = (): void => {
          signal.removeEventListener('abort', onAbort);
          free -= 1;
          resolve(createRelease());
        };
        signal.addEventListener('abort', onAbort, { once: true });
        waiting.push(grant);
      });
    },
  };
}
