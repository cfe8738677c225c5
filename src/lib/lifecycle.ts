/** Starts a timer that runs once. Passed as a parameter, so that no test waits. @returns a function that stops it. */
export type StartTimer = (ms: number, run: () => void) => () => void;

/** The runtime's timer. It keeps the process alive, so that a close that hangs ends in an error and not in silence. */
const startSystemTimer: StartTimer = (ms, run) => {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
};

export interface LifecycleOptions {
  /** Limits the time of each close, in ms. A close that takes longer counts as failed, and the next one begins. */
  readonly closeMsMax: number;
  readonly startTimer?: StartTimer;
}

/** Parts that are opened in order and closed in the reverse order, whatever fails. */
export interface Lifecycle {
  /** Opens a part. Its `close` is called by `closeAll` if `open` succeeds. Rejects with the error of `open`. */
  open<Part>(
    name: string,
    open: () => Part | Promise<Part>,
    close: (part: Part) => void | Promise<void>,
  ): Promise<Part>;
  /**
   * Closes every open part, the last one first. Further calls return the result of the first one.
   * @throws the error of the only part that failed to close; AggregateError with all of them if there are several.
   */
  closeAll(): Promise<void>;
}

interface OpenPart {
  readonly name: string;
  close(): void | Promise<void>;
}

export function createLifecycle({ closeMsMax, startTimer = startSystemTimer }: LifecycleOptions): Lifecycle {
  const parts: OpenPart[] = [];
  let closing: Promise<void> | undefined;

  /** Closes a part. Rejects when it fails or takes too long; what it does after that is ignored. */
  const closePart = async ({ name, close }: OpenPart): Promise<void> => {
    const { promise: timeout, reject } = Promise.withResolvers<never>();
    const stopTimer = startTimer(closeMsMax, () => reject(new Error(`${name} did not close within ${closeMsMax} ms`)));
    try {
      await Promise.race([close(), timeout]);
    } finally {
      stopTimer();
    }
  };

  const closeParts = async (): Promise<void> => {
    const errors: unknown[] = [];
    for (let part = parts.pop(); part; part = parts.pop())
      await closePart(part).catch((error: unknown) => void errors.push(error));
    if (errors.length === 1) throw errors[0];
    if (errors.length > 1) throw new AggregateError(errors, errors.map(String).join('; '));
  };

  return {
    async open(name, open, close) {
      const part = await open();
      parts.push({ name, close: () => close(part) });
      return part;
    },
    closeAll: () => (closing ??= closeParts()),
  };
}

/**
 * Runs `open`, which opens parts of the lifecycle. If it fails, every part that it had opened is closed again, and it
 * rejects with the original error.
 * @param onCloseError Called if closing fails, too: callers need the error that caused the failure, not this one.
 */
export async function openAllOrNone<Result>(
  lifecycle: Pick<Lifecycle, 'closeAll'>,
  open: () => Promise<Result>,
  onCloseError: (error: unknown) => void,
): Promise<Result> {
  try {
    return await open();
  } catch (error) {
    await lifecycle.closeAll().catch(onCloseError);
    throw error;
  }
}
