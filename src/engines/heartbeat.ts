interface HeartbeatOptions {
  /** Rejects if the other side does not respond. */
  readonly check: () => Promise<void>;
  /** Time between the end of a check and the next one. */
  readonly intervalMs: number;
  /** Number of consecutive failed checks after which the heartbeat is lost. */
  readonly lostMax: number;
  /** Called once; no check follows. */
  readonly onLost: () => void;
}

/** Repeats a check until it is stopped or lost. @returns a function that stops it. */
export function startHeartbeat({ check, intervalMs, lostMax, onLost }: HeartbeatOptions): () => void {
  let isStopped = false;
  let timer: NodeJS.Timeout;
  const schedule = (lostCount: number): void => {
    if (isStopped) return;
    timer = setTimeout(() => {
      check().then(
        () => schedule(0),
        () => {
          if (isStopped) return;
          if (lostCount + 1 < lostMax) schedule(lostCount + 1);
          else onLost();
        },
      );
    }, intervalMs);
    timer.unref();
  };
  schedule(0);
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
}
