/** How the last runs of a child process ended. */
export interface RestartHistory {
  /** Number of consecutive starts that never became ready. */
  readonly failedStarts: number;
  /** Number of consecutive exits without a steady run between them. */
  readonly exitsInRow: number;
}

export const NO_EXITS: RestartHistory = { failedStarts: 0, exitsInRow: 0 };

/** After this many consecutive failed starts, callers are rejected at once; restarts continue with backoff. */
export const FAILED_STARTS_MAX = 3;

export const isFailing = ({ failedStarts }: RestartHistory): boolean => failedStarts >= FAILED_STARTS_MAX;

export const addReadyChild = (history: RestartHistory): RestartHistory => ({ ...history, failedStarts: 0 });

/** Records that a child was ready for so long that the next exit starts the backoff again. */
export const addSteadyRun = (history: RestartHistory): RestartHistory => ({ ...history, exitsInRow: 0 });

export const addExit = (
  { failedStarts, exitsInRow }: RestartHistory,
  { wasReady }: { readonly wasReady: boolean },
): RestartHistory => ({ failedStarts: wasReady ? 0 : failedStarts + 1, exitsInRow: exitsInRow + 1 });

/**
 * Returns the delay between the last exit and the next start. A child that ran is replaced at once; the delay doubles with
 * each consecutive exit.
 */
export const getBackoffMs = (
  { exitsInRow, failedStarts }: RestartHistory,
  { backoffMsMin, backoffMsMax }: { readonly backoffMsMin: number; readonly backoffMsMax: number },
): number =>
  exitsInRow === 1 && failedStarts === 0 ? 0 : Math.min(backoffMsMax, backoffMsMin * 2 ** (exitsInRow - 1));
