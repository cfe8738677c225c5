/** One timer that limits each step of a call in turn. */
export interface StepTimer {
  /** Starts the next step; the one before has ended. */
  startStep(step: string, ms: number): void;
  /** Stops the limit until the next step starts. */
  pause(): void;
  /** Stops the timer. */
  stop(): void;
  /** Returns a description of the step that took too long, if any. */
  getExpiredStep(): string | undefined;
}

/**
 * Steps change with every token, so a step that ends in time sets no timer: the running timer checks the current step when
 * it fires, and waits for the remaining time.
 *
 * @param onExpire Closes the connection; called at most once.
 * @param now Monotonic clock, in milliseconds.
 */
export function createStepTimer(onExpire: () => void, now: () => number = () => performance.now()): StepTimer {
  let timer: { readonly handle: NodeJS.Timeout; readonly dueAt: number } | undefined;
  let step: { readonly name: string; readonly ms: number; readonly dueAt: number } | undefined;
  let expiredStep: string | undefined;

  const arm = (ms: number): void => {
    clearTimeout(timer?.handle);
    timer = { handle: setTimeout(onTimer, ms), dueAt: now() + ms };
  };
  const onTimer = (): void => {
    timer = undefined;
    if (!step) return;
    const remainingMs = step.dueAt - now();
    if (remainingMs > 0) return arm(remainingMs);
    expiredStep = `${step.name} took longer than ${step.ms} ms`;
    onExpire();
  };

  return {
    startStep(name, ms) {
      if (expiredStep !== undefined) return;
      const dueAt = now() + ms;
      step = { name, ms, dueAt };
      if (!timer || timer.dueAt > dueAt) arm(ms);
    },
    pause() {
      step = undefined;
    },
    stop() {
      step = undefined;
      clearTimeout(timer?.handle);
      timer = undefined;
    },
    getExpiredStep: () => expiredStep,
  };
}
