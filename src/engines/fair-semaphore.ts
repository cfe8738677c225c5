import { createQueueFullError } from '../core/generation-errors.ts';
import { ServiceError } from '../core/error.ts';
import { RETRY_AFTER_SECONDS } from '../core/limits.ts';
import { createTimedAbort } from '../lib/linked-abort.ts';
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
  acquire(
    count: number,
    caller: { readonly owner: EngineOwner; readonly signal: AbortSignal | undefined },
  ): Promise<() => void>;
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
  /** Creates the error of a request that is not served. Default: a ServiceError as above. */
  readonly createRefusal?: (reason: RefusalReason) => Error;
}

/** The queue is full, the key has its share of the queue, or the request has waited too long. */
export type RefusalReason = 'full' | 'key-share' | 'wait';

interface OwnedRequest extends PermitRequest {
  readonly owner: EngineOwner;
}

export function createFairSemaphore({
  canAcquire,
  queueLengthMax,
  queueWaitMsMax,
  createRefusal = createQueueRefusal,
}: FairSemaphoreOptions): FairSemaphore {
  const queue = createFairQueue<PermitWaiter<OwnedRequest>>({ lengthMax: queueLengthMax });
  const semaphore = createQueuedSemaphore<OwnedRequest>({
    canAcquire: (request, taken) => canAcquire({ ...request, taken }),
    toAbortError: (signal) => (signal.reason === WAITED_TOO_LONG ? createRefusal('wait') : getAbortError(signal)),
    queue: {
      add(waiter) {
        const result = queue.add(waiter.request.owner, waiter);
        if (result !== 'added') throw createRefusal(result);
      },
      peek: queue.peek,
      take: queue.take,
      remove: queue.remove,
    },
  });
  return {
    async acquire(count, { owner, signal }) {
      const wait = createTimedAbort(signal, getWaitMsMax(owner, queueWaitMsMax), () => WAITED_TOO_LONG);
      return await semaphore.acquire({ count, owner }, wait.signal).finally(wait.unlink);
    },
    recheck: semaphore.recheck,
  };
}

/** Creates the error of a request that a full queue refuses, or that has waited too long. */
export const createQueueRefusal = (reason: RefusalReason): ServiceError => REFUSALS[reason]();

/** Reason of an abort after the longest wait. */
const WAITED_TOO_LONG = Symbol('waited too long');

const createBusyError = (kind: 'overloaded' | 'rate-limited', message: string): ServiceError =>
  new ServiceError(kind, `${message} Please try again later.`, { retryAfterSeconds: RETRY_AFTER_SECONDS });

const REFUSALS: Readonly<Record<RefusalReason, () => ServiceError>> = {
  full: () => createQueueFullError(RETRY_AFTER_SECONDS),
  'key-share': () => createBusyError('rate-limited', 'Too many requests of this API key are waiting for the model.'),
  wait: () => createBusyError('overloaded', 'The model is busy: no slot became free in time.'),
};
