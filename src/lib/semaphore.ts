import { createQueuedSemaphore, type PermitRequest, type PermitWaiter } from './queued-semaphore.ts';

/** A semaphore with a FIFO queue. */
export interface Semaphore {
  /**
   * Waits for a permit.
   * @returns a function that releases the permit; only its first call has an effect.
   * @throws the signal's reason; the error of `createQueueFullError` when the queue is full.
   */
  acquire(signal?: AbortSignal): Promise<() => void>;
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
  const acquire = (signal?: AbortSignal): Promise<() => void> => semaphore.acquire(ONE_PERMIT, signal);
  return {
    acquire,
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

const ONE_PERMIT: PermitRequest = { count: 1 };
