/** A request for `count` permits at once. */
export interface PermitRequest {
  readonly count: number;
}

export interface PermitWaiter<Request extends PermitRequest> {
  readonly request: Request;
  readonly grant: (release: () => void) => void;
}

/** Decides who waits and in which order the waiters are served. */
export interface WaitQueue<Waiter> {
  /** @throws an error if the queue is full; the request is then rejected with it. */
  add(waiter: Waiter): void;
  peek(): Waiter | undefined;
  /** Removes the waiter that `peek` returned. */
  take(waiter: Waiter): void;
  remove(waiter: Waiter): void;
}

/** A queue in which a new waiter may precede others. */
export interface PriorityWaitQueue<Request extends PermitRequest> extends WaitQueue<PermitWaiter<Request>> {
  /** Whether a new request would be the first one. Default: if nothing waits. */
  wouldBeFirst?(request: Request): boolean;
}

export interface QueuedSemaphore<Request extends PermitRequest> {
  /**
   * Waits for the permits of a request.
   * @returns a function that releases them; only its first call has an effect.
   * @throws the error of the queue if it is full; the error of `toAbortError`.
   */
  acquire(request: Request, signal?: AbortSignal): Promise<() => void>;
  /** Takes the permits of a request like `acquire`; returns undefined if it would have to wait. */
  tryAcquire(request: Request): (() => void) | undefined;
  /** Tests `canAcquire` again. Call this when its result may have changed without a release. */
  recheck(): void;
}

export interface QueuedSemaphoreOptions<Request extends PermitRequest> {
  readonly queue: PriorityWaitQueue<Request>;
  /** Whether a request may acquire its permits now. `taken` is the number of permits held by others. */
  readonly canAcquire: (request: Request, taken: number) => boolean;
  /** Called with the number of permits that a request has got, and with its negative when it has released them. */
  readonly onTakenChange?: (request: Request, change: number) => void;
  /** Default: the signal's reason. */
  readonly toAbortError?: (signal: AbortSignal) => unknown;
}

/** Creates a semaphore whose order and limits are the caller's. All semaphores are built on this one. */
export function createQueuedSemaphore<Request extends PermitRequest>({
  queue,
  canAcquire,
  onTakenChange,
  toAbortError = ({ reason }) => reason,
}: QueuedSemaphoreOptions<Request>): QueuedSemaphore<Request> {
  let taken = 0;

  const takePermits = (request: Request): (() => void) => {
    let isReleased = false;
    const changeTaken = (change: number): void => {
      taken += change;
      onTakenChange?.(request, change);
    };
    changeTaken(request.count);
    return () => {
      if (isReleased) return;
      isReleased = true;
      changeTaken(-request.count);
      admit();
    };
  };

  const admit = (): void => {
    // Strictly in order: otherwise a request for several permits might wait forever.
    for (let first = queue.peek(); first && canAcquire(first.request, taken); first = queue.peek()) {
      queue.take(first);
      first.grant(takePermits(first.request));
    }
  };

  const wouldBeFirst = (request: Request): boolean => queue.wouldBeFirst?.(request) ?? !queue.peek();
  const tryAcquire = (request: Request): (() => void) | undefined =>
    wouldBeFirst(request) && canAcquire(request, taken) ? takePermits(request) : undefined;

  return {
    tryAcquire,
    acquire: (request, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(toAbortError(signal));
        const acquired = tryAcquire(request);
        if (acquired) return resolve(acquired);
        const onAbort = (): void => {
          queue.remove(waiter);
          reject(signal && toAbortError(signal));
          // A later waiter may need fewer permits.
          admit();
        };
        const waiter: PermitWaiter<Request> = {
          request,
          grant(release) {
            signal?.removeEventListener('abort', onAbort);
            resolve(release);
          },
        };
        queue.add(waiter);
        signal?.addEventListener('abort', onAbort, { once: true });
        // The queue may put this request before others that cannot be served yet.
        admit();
      }),
    recheck: admit,
  };
}
