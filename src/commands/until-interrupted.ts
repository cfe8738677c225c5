import { ServiceError } from '../core/error.ts';

/**
 * Runs work that SIGINT and SIGTERM abort. The child processes of a download are not the terminal's: they would outlive
 * an interrupt that nobody hands on to them.
 * @throws ServiceError `cancelled` with that message, where the work throws its signal's reason.
 */
export async function untilInterrupted<T>(message: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController();
  const onSignal = (): void => stop.abort(new ServiceError('cancelled', message));
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal);
  try {
    return await work(stop.signal);
  } finally {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
  }
}
