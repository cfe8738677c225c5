/** Lets so much work run at a time; the rest waits, in order of arrival. */
export type Gate = <T>(work: () => Promise<T>) => Promise<T>;

export function createGate(atOnce: number): Gate {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (running >= atOnce) await new Promise<void>((resolve) => waiting.push(resolve));
    else running++;
    try {
      return await work();
    } finally {
      // The place goes on to the next, who counts as running already.
      const next = waiting.shift();
      if (next) next();
      else running--;
    }
  };
}
