/** What is waited for goes on; whoever has gone does not wait for it any longer. @throws the signal's reason, at once. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: gone, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([work, gone]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
