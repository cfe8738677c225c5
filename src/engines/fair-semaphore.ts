import { ServiceError } from '../core/error.ts';
import { RETRY_AFTER_SECONDS } from '../core/limits.ts';
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

interface Waiter {
  readonly count: number;
  readonly owner: EngineOwner;
  readonly onAcquired: () => void;
}

export function createFairSemaphore({
  canAcquire,
  queueLengthMax,
  queueWaitMsMax,
}: FairSemaphoreOptions): FairSemaphore {
  const queue = createFairQueue<Waiter>({ lengthMax: queueLengthMax });
  let taken = 0;

  const admit = (): void => {
    // Strictly in order: otherwise a request for several permits might wait forever.
    for (let first = queue.peek(); first && canAcquire({ ...first, taken }); first = queue.peek()) {
      queue.take();
      taken += first.count;
      first.onAcquired();
    }
  };

  const createRelease = (count: number): (() => void) => {
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      taken -= count;
      admit();
    };
  };

  return {
    acquire: (count, { owner, signal }) =>
      new Promise((resolve, reject) => {
        const settle = (complete: () => void): void => {
          clearTimeout(timer);
          signal.removeEventListener('abort', onAbort);
          complete();
        };
        const waiter: Waiter = { count, owner, onAcquired: () => settle(() => resolve(createRelease(count))) };
        const leave = (error: ServiceError): void => {
          queue.remove(waiter);
          settle(() => reject(error));
          // A later waiter may need fewer permits.
          admit();
        };
        const rejectBusy = (message: string, kind: 'overloaded' | 'rate-limited' = 'overloaded'): void =>
          leave(new ServiceError(kind, message, { retryAfterSeconds: RETRY_AFTER_SECONDS }));
        const onAbort = (): void => leave(getAbortError(signal));
        const timer = setTimeout(
          () => rejectBusy('The model is busy: no slot became free in time. Please try again later.'),
          getWaitMsMax(owner, queueWaitMsMax),
        );
        if (signal.aborted) return onAbort();
        signal.addEventListener('abort', onAbort, { once: true });
        const result = queue.add(owner, waiter);
        if (result === 'full') rejectBusy('Too many requests are waiting for the model. Please try again later.');
        else if (result === 'key-share')
          rejectBusy(
            'Too many requests of this API key are waiting for the model. Please try again later.',
            'rate-limited',
          );
        else admit();
      }),
    recheck: admit,
  };
}
