/** One timer that follows a call from step to step and cuts it off when a step takes too long. */
export interface Watch {
  /** Begins the next step; the one before is over. */
  begin(step: string, ms: number): void;
  /** Nothing is waited for until the next step begins. */
  hold(): void;
  /** Nothing is waited for any more. */
  rest(): void;
  /** The step that took too long, where one did. */
  expired(): string | undefined;
}

/**
 * Steps come with every token, so a step that ends in time costs no timer: the one that runs looks how late it is when it
 * fires, and waits for the rest.
 *
 * @param cutOff Closes the connection; called at most once.
 * @param now Of a monotonic clock, in ms.
 */
export function createWatch(cutOff: () => void, now: () => number = () => performance.now()): Watch {
  let timer: { readonly handle: NodeJS.Timeout; readonly dueAt: number } | undefined;
  let step: { readonly name: string; readonly ms: number; readonly dueAt: number } | undefined;
  let expired: string | undefined;

  const arm = (ms: number): void => {
    clearTimeout(timer?.handle);
    timer = { handle: setTimeout(onTime, ms), dueAt: now() + ms };
  };
  const onTime = (): void => {
    timer = undefined;
    if (!step) return;
    const left = step.dueAt - now();
    if (left > 0) return arm(left);
    expired = `${step.name} took longer than ${step.ms} ms`;
    cutOff();
  };

  return {
    begin(name, ms) {
      if (expired !== undefined) return;
      const dueAt = now() + ms;
      step = { name, ms, dueAt };
      if (!timer || timer.dueAt > dueAt) arm(ms);
    },
    hold() {
      step = undefined;
    },
    rest() {
      step = undefined;
      clearTimeout(timer?.handle);
      timer = undefined;
    },
    expired: () => expired,
  };
}
