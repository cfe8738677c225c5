import { abortReason } from './abort-reason.ts';

/** What is shared goes on; a caller that has gone does not wait for it any longer. @throws the signal's reason. */
export async function unlessAborted<T>(shared: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: gone, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(abortReason(signal));
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([shared, gone]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
