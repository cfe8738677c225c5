import { ServiceError } from '../core/error.ts';

/**
 * Signals within this time in ms count as one: Ctrl-C reaches the whole process group, and a wrapper forwards it again.
 */
const SIGNAL_ECHO_MS = 500;

/**
 * Aborts `stop` on SIGINT and SIGTERM with a `cancelled` error of that message. A second signal exits as soon as
 * `beforeExit` resolves, a third one at once.
 * @returns a function that removes the handlers.
 */
export function abortOnSignals(
  stop: AbortController,
  message: string,
  beforeExit: () => Promise<unknown> = async () => undefined,
): () => void {
  let lastAt = -Infinity;
  let isExiting = false;
  const exit = (): never => process.exit(130);
  const onSignal = (): void => {
    const now = performance.now();
    if (now - lastAt < SIGNAL_ECHO_MS) return;
    lastAt = now;
    if (isExiting) exit();
    if (!stop.signal.aborted) return stop.abort(new ServiceError('cancelled', message));
    isExiting = true;
    beforeExit().then(exit, exit);
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  return () => void process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
}

/**
 * Runs work that SIGINT and SIGTERM abort. Child processes of a download do not receive the signals of the terminal, so
 * the work must end them itself.
 * @throws ServiceError `cancelled` with that message if the work throws the reason of its signal.
 */
export async function runUntilInterrupted<T>(message: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController();
  const removeHandlers = abortOnSignals(stop, message);
  try {
    return await work(stop.signal);
  } finally {
    removeHandlers();
  }
}
