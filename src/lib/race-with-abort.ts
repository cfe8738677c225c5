/**
 * Waits for a task until the signal aborts; the task itself continues, and a later failure of it is ignored.
 * @throws the signal's reason, or what `toError` makes of the signal, immediately.
 */
export async function raceWithAbort<T>(
  task: Promise<T> | T,
  signal: AbortSignal,
  toError: (signal: AbortSignal) => unknown = getReason,
): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(toError(signal));
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([task, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

const getReason = ({ reason }: AbortSignal): unknown => reason;
