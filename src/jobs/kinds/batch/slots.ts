/** A number of places. Who waits longest has the next: those who each wait in one place at a time share them evenly. */
export interface Slots {
  /** @returns what gives the place back, once. @throws the signal's reason. */
  take(signal: AbortSignal): Promise<() => void>;
}

export function createSlots(count: number): Slots {
  let free = count;
  const waiting: (() => void)[] = [];

  const taken = (): (() => void) => {
    let isGivenBack = false;
    return () => {
      if (isGivenBack) return;
      isGivenBack = true;
      free += 1;
      waiting.shift()?.();
    };
  };

  return {
    async take(signal) {
      signal.throwIfAborted();
      if (free > 0) {
        free -= 1;
        return taken();
      }
      return await new Promise<() => void>((resolve, reject) => {
        const onAbort = (): void => {
          waiting.splice(waiting.indexOf(turn), 1);
          reject(signal.reason);
        };
        const turn = (): void => {
          signal.removeEventListener('abort', onAbort);
          free -= 1;
          resolve(taken());
        };
        signal.addEventListener('abort', onAbort, { once: true });
        waiting.push(turn);
      });
    },
  };
}
