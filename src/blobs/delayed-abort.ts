/** A signal that aborts a fixed time after another signal. */
export interface DelayedAbort {
  readonly signal: AbortSignal;
  /** Stops listening to the other signal and clears the timer. */
  dispose(): void;
}

/**
 * Gives a request in flight time to finish after its caller has aborted. A request that is cut off at once may still
 * take effect on the server after the clean-up; a request that was answered cannot.
 */
export function createDelayedAbort(trigger: AbortSignal | undefined, delayMs: number): DelayedAbort {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const startTimer = (): void => {
    timer ??= setTimeout(() => controller.abort(), delayMs);
  };
  trigger?.addEventListener('abort', startTimer, { once: true });
  if (trigger?.aborted === true) startTimer();
  return {
    signal: controller.signal,
    dispose() {
      trigger?.removeEventListener('abort', startTimer);
      clearTimeout(timer);
    },
  };
}
