/** Limits how many tasks run at the same time. The others wait in FIFO order. */
export interface UploadLimiter {
  /** Waits until a task may start, then runs it. */
  run<T>(work: () => Promise<T>): Promise<T>;
}

export function createUploadLimiter(max: number): UploadLimiter {
  const waiting: (() => void)[] = [];
  let free = max;
  return {
    async run(work) {
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
