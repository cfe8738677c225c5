import { getAbortError } from './get-abort-error.ts';

/** Callers that wait for the same value. */
export interface WaiterList<T> {
  /** @throws the signal's reason; an error from `createTimeoutError` after `waitMsMax`. */
  wait(signal: AbortSignal | undefined): Promise<T>;
  /** Resolves all current waiters with the value. */
  resolveAll(value: T): void;
  /** Rejects all current waiters with an error from `createTimeoutError`. */
  rejectAll(): void;
}

export function createWaiterList<T>({
  waitMsMax,
  createTimeoutError,
}: {
  readonly waitMsMax: number;
  readonly createTimeoutError: () => Error;
}): WaiterList<T> {
  const waiters = new Set<{ readonly resolve: (value: T) => void; readonly reject: (error: unknown) => void }>();
  return {
    wait: (signal) =>
      new Promise<T>((resolve, reject) => {
        const waiter = {
          resolve: (value: T) => settle(() => resolve(value)),
          reject: (error: unknown) => settle(() => reject(error)),
        };
        const timer = setTimeout(() => waiter.reject(createTimeoutError()), waitMsMax);
        const onAbort = (): void => waiter.reject(signal && getAbortError(signal));
        const settle = (settle: () => void): void => {
          clearTimeout(timer);
          signal?.removeEventListener('abort', onAbort);
          waiters.delete(waiter);
          settle();
        };
        waiters.add(waiter);
        signal?.addEventListener('abort', onAbort, { once: true });
        if (signal?.aborted) onAbort();
      }),
    resolveAll(value) {
      for (const caller of waiters) caller.resolve(value);
    },
    rejectAll() {
      for (const caller of waiters) caller.reject(createTimeoutError());
    },
  };
}
