/** A signal that aborts with its parent and by itself. */
export interface LinkedAbort {
  readonly signal: AbortSignal;
  abort(reason: unknown): void;
  /** Lets go of the parent; without it a long-lived parent would keep every child. */
  unlink(): void;
}

/** A fraction of what `AbortSignal.any` costs, which is too much for every request. */
export function linkedAbort(parent: AbortSignal): LinkedAbort {
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
