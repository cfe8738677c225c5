/** Lets so many in at once; the others wait in order, and no more of them than may. */
export interface Turns {
  /**
   * @returns what gives the place back.
   * @throws the signal's reason; what `refuse` makes where too many wait.
   */
  enter(signal: AbortSignal): Promise<() => void>;
}

export interface TurnsOptions {
  readonly atOnce: number;
  readonly waitingMax: number;
  readonly refuse: () => Error;
}

export function createTurns({ atOnce, waitingMax, refuse }: TurnsOptions): Turns {
  const waiting: (() => void)[] = [];
  let taken = 0;
  const leave = (): void => {
    const next = waiting.shift();
    if (next) next();
    else taken--;
  };
  return {
    enter: (signal) =>
      new Promise((resolve, reject) => {
        if (taken < atOnce) {
          taken++;
          return resolve(leave);
        }
        if (waiting.length >= waitingMax) return reject(refuse());
        const begin = (): void => {
          signal.removeEventListener('abort', onAbort);
          resolve(leave);
        };
        const onAbort = (): void => {
          waiting.splice(waiting.indexOf(begin), 1);
          reject(signal.reason as Error);
        };
        signal.addEventListener('abort', onAbort, { once: true });
        waiting.push(begin);
      }),
  };
}
