import { ServiceError } from '../core/error.ts';

/** Signals that come this close together, in ms, are one: Ctrl-C reaches the whole process group, and a wrapper hands it on once more. */
export const SIGNAL_ECHO_MS = 500;

/**
 * Runs work that SIGINT and SIGTERM abort; a second one ends the process at once. The child processes of a download are
 * not the terminal's: they would outlive an interrupt that nobody hands on to them.
 * @throws ServiceError `cancelled` with that message, where the work throws its signal's reason.
 */
export async function untilInterrupted<T>(message: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController();
  let firstAt = 0;
  const onSignal = (): void => {
    const now = performance.now();
    if (stop.signal.aborted && now - firstAt < SIGNAL_ECHO_MS) return;
    if (stop.signal.aborted) process.exit(130);
    firstAt = now;
    stop.abort(new ServiceError('cancelled', message));
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  try {
    return await work(stop.signal);
  } finally {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
  }
}
