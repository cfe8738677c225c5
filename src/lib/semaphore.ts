import { createQueuedSemaphore, type PermitRequest, type PermitWaiter } from './queued-semaphore.ts';

/** A semaphore with a FIFO queue. */
export interface Semaphore {
  /**
   * Waits for `count` permits at once. Default: one.
   * @returns a function that releases them; only its first call has an effect.
   * @throws the signal's reason; the error of `createQueueFullError` when the queue is full.
   */
  acquire(signal?: AbortSignal, count?: number): Promise<() => void>;
  /** Takes permits like `acquire`; returns undefined if the task would have to wait. */
  tryAcquire(count?: number): (() => void) | undefined;
  /** Waits for a permit and runs a task with it. @throws like `acquire`; errors of the task. */
  run<T>(task: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

export interface SemaphoreOptions {
  readonly permits: number;
  /** Default: unbounded. */
  readonly queueLengthMax?: number;
  readonly createQueueFullError?: () => Error;
}

export function createSemaphore({
  permits,
  queueLengthMax = Infinity,
  createQueueFullError = () => new Error('too many tasks wait for a permit'),
}: SemaphoreOptions): Semaphore {
  const waiting: PermitWaiter<PermitRequest>[] = [];
  const semaphore = createQueuedSemaphore<PermitRequest>({
    canAcquire: ({ count }, taken) => taken + count <= permits,
    queue: {
      add(waiter) {
        if (waiting.length >= queueLengthMax) throw createQueueFullError();
        waiting.push(waiter);
      },
      peek: () => waiting[0],
      take: () => void waiting.shift(),
      remove: (waiter) => void waiting.splice(waiting.indexOf(waiter), 1),
    },
  });
  const acquire = (signal?: AbortSignal, count = 1): Promise<() => void> => semaphore.acquire({ count }, signal);
  return {
    acquire,
    tryAcquire: (count = 1) => semaphore.tryAcquire({ count }),
    async run(task, signal) {
      const release = await acquire(signal);
      try {
        return await task();
      } finally {
        release();
      }
    },
  };
}
