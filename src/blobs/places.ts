/** Lets so many in at the same time; the others wait in the order in which they came. */
export interface Places {
  /** Waits for a place, works, and gives the place to the next one. */
  within<T>(work: () => Promise<T>): Promise<T>;
}

export function createPlaces(max: number): Places {
  const waiting: (() => void)[] = [];
  let free = max;
  return {
    async within(work) {
      if (free > 0) free -= 1;
      else await new Promise<void>((resolve) => waiting.push(resolve));
      try {
        return await work();
      } finally {
        const next = waiting.shift();
        if (next) next();
        else free += 1;
      }
    },
  };
}
