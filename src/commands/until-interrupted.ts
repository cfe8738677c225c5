import { ServiceError } from '../core/error.ts';

/** Signals that come this close together, in ms, are one: Ctrl-C reaches the whole process group, and a wrapper hands it on once more. */
const SIGNAL_ECHO_MS = 500;

/**
 * SIGINT and SIGTERM abort, with a `cancelled` of that message; a second one ends the process at once.
 * @returns Lets them be what they were.
 */
export function abortOnSignals(stop: AbortController, message: string): () => void {
  let firstAt = 0;
  const onSignal = (): void => {
    const now = performance.now();
    if (stop.signal.aborted && now - firstAt < SIGNAL_ECHO_MS) return;
    if (stop.signal.aborted) process.exit(130);
    firstAt = now;
    stop.abort(new ServiceError('cancelled', message));
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  return () => void process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
}

/**
 * Runs work that `abortOnSignals` ends. The child processes of a download are not the terminal's: they would outlive an
 * interrupt that nobody hands on to them.
 * @throws ServiceError `cancelled` with that message, where the work throws its signal's reason.
 */
export async function untilInterrupted<T>(message: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController();
  const leave = abortOnSignals(stop, message);
  try {
    return await work(stop.signal);
  } finally {
    leave();
  }
}
