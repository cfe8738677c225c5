/** Limits how many calls run at a time; the others wait in order of arrival. */
export type ConcurrencyLimiter = <T>(work: () => Promise<T>) => Promise<T>;

export function createConcurrencyLimiter(callsMax: number): ConcurrencyLimiter {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (running >= callsMax) await new Promise<void>((resolve) => waiting.push(resolve));
    else running++;
    try {
      return await work();
    } finally {
      // The permit passes to the next waiter, which counts as running already.
      const next = waiting.shift();
      if (next) next();
      else running--;
    }
  };
}
