import { abortReason } from './abort-reason.ts';

/** Callers who wait for the same thing. */
export interface WaitingCallers<T> {
  /** Rejects with the signal's reason, or with a refusal after the time. */
  wait(signal: AbortSignal | undefined): Promise<T>;
  /** It is there: all who wait get it. */
  admit(value: T): void;
  /** It will not come: all who wait are refused. */
  refuse(): void;
}

export function createWaitingCallers<T>({
  waitMsMax,
  refusal,
}: {
  readonly waitMsMax: number;
  readonly refusal: () => Error;
}): WaitingCallers<T> {
  const waiting = new Set<{ readonly resolve: (value: T) => void; readonly reject: (error: unknown) => void }>();
  return {
    wait: (signal) =>
      new Promise<T>((resolve, reject) => {
        const caller = {
          resolve: (value: T) => done(() => resolve(value)),
          reject: (error: unknown) => done(() => reject(error)),
        };
        const timer = setTimeout(() => caller.reject(refusal()), waitMsMax);
        const onAbort = (): void => caller.reject(signal && abortReason(signal));
        const done = (settle: () => void): void => {
          clearTimeout(timer);
          signal?.removeEventListener('abort', onAbort);
          waiting.delete(caller);
          settle();
        };
        waiting.add(caller);
        signal?.addEventListener('abort', onAbort, { once: true });
        if (signal?.aborted) onAbort();
      }),
    admit(value) {
      for (const caller of waiting) caller.resolve(value);
    },
    refuse() {
      for (const caller of waiting) caller.reject(refusal());
    },
  };
}
