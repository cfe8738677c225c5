import { createQueueFullError } from '../core/generation-errors.ts';
import { ServiceError } from '../core/error.ts';
import { RETRY_AFTER_SECONDS } from '../core/limits.ts';
import { createLinkedAbort } from '../lib/linked-abort.ts';
import { createQueuedSemaphore, type PermitRequest, type PermitWaiter } from '../lib/queued-semaphore.ts';
import { getAbortError } from './get-abort-error.ts';
import { getWaitMsMax } from './priority.ts';
import type { EngineOwner } from './engine.ts';
import { createFairQueue } from './fair-queue.ts';

/**
 * Semaphore for the slots of a server. Waiting requests are served fairly: workspaces take turns, then keys, then
 * requests by arrival. Background requests are served when no live request waits.
 */
export interface FairSemaphore {
  /**
   * Acquires `count` permits at once. Returns a function that releases them; only its first call has an effect.
   * @throws ServiceError `overloaded` if too many requests wait or the wait is too long; `rate-limited` if the key has
   *   used its share of the queue; the signal's reason.
   */
  acquire(count: number, caller: { readonly owner: EngineOwner; readonly signal: AbortSignal }): Promise<() => void>;
  /** Tests `canAcquire` again. Call this when its result may have changed without a release. */
  recheck(): void;
}

export interface FairSemaphoreOptions {
  /** Whether the next request may acquire its permits now. `taken` is the number of permits held by others. */
  readonly canAcquire: (request: {
    readonly count: number;
    readonly owner: EngineOwner;
    readonly taken: number;
  }) => boolean;
  readonly queueLengthMax: number;
  /** Longest wait of a live request, in ms. */
  readonly queueWaitMsMax: number;
}

interface OwnedRequest extends PermitRequest {
  readonly owner: EngineOwner;
}

export function createFairSemaphore({
  canAcquire,
  queueLengthMax,
  queueWaitMsMax,
}: FairSemaphoreOptions): FairSemaphore {
  const queue = createFairQueue<PermitWaiter<OwnedRequest>>({ lengthMax: queueLengthMax });
  const semaphore = createQueuedSemaphore<OwnedRequest>({
    canAcquire: (request, taken) => canAcquire({ ...request, taken }),
    toAbortError: getAbortError,
    queue: {
      add(waiter) {
        const result = queue.add(waiter.request.owner, waiter);
        if (result !== 'added') throw REFUSALS[result]();
      },
      peek: queue.peek,
      take: queue.take,
      remove: queue.remove,
    },
  });
  return {
    async acquire(count, { owner, signal }) {
      const wait = createLinkedAbort(signal);
      const timer = setTimeout(() => wait.abort(createTimeoutError()), getWaitMsMax(owner, queueWaitMsMax));
      try {
        return await semaphore.acquire({ count, owner }, wait.signal);
      } finally {
        clearTimeout(timer);
        wait.unlink();
      }
    },
    recheck: semaphore.recheck,
  };
}

const createBusyError = (message: string, kind: 'overloaded' | 'rate-limited' = 'overloaded'): ServiceError =>
  new ServiceError(kind, message, { retryAfterSeconds: RETRY_AFTER_SECONDS });

const createTimeoutError = (): ServiceError =>
  createBusyError('The model is busy: no slot became free in time. Please try again later.');

const REFUSALS = {
  full: () => createQueueFullError(RETRY_AFTER_SECONDS),
  'key-share': () =>
    createBusyError(
      'Too many requests of this API key are waiting for the model. Please try again later.',
      'rate-limited',
    ),
};
