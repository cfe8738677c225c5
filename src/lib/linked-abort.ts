/** An abort signal that also aborts with a parent signal. */
export interface LinkedAbort {
  readonly signal: AbortSignal;
  abort(reason: unknown): void;
  /** Removes the listener from the parent. Without it, a long-lived parent keeps every child in memory. */
  unlink(): void;
}

/** Links a new signal to `parent`. Far cheaper than `AbortSignal.any`, which is too expensive for every request. */
export function createLinkedAbort(parent: AbortSignal): LinkedAbort {
  const controller = new AbortController();
  const onParent = (): void => controller.abort(parent.reason);
  parent.addEventListener('abort', onParent, { once: true });
  if (parent.aborted) onParent();
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    unlink: () => parent.removeEventListener('abort', onParent),
  };
}
