import { getAbortError } from './get-abort-error.ts';

/** Waits for shared work until the caller's signal aborts; the work itself continues. @throws the signal's reason. */
export async function raceWithAbort<T>(shared: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(getAbortError(signal));
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([shared, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
