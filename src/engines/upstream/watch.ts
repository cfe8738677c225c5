/** One timer that follows a call from step to step and cuts it off when a step takes too long. */
export interface Watch {
  /** Begins the next step; the one before is over. */
  begin(step: string, ms: number): void;
  /** Nothing is waited for. */
  rest(): void;
  /** The step that took too long, where one did. */
  expired(): string | undefined;
}

/** @param cutOff Closes the connection; called at most once. */
export function createWatch(cutOff: () => void): Watch {
  let timer: NodeJS.Timeout | undefined;
  let expired: string | undefined;
  const rest = (): void => clearTimeout(timer);
  return {
    begin(step, ms) {
      rest();
      if (expired !== undefined) return;
      timer = setTimeout(() => {
        expired = `${step} took longer than ${ms} ms`;
        cutOff();
      }, ms);
    },
    rest,
    expired: () => expired,
  };
}
