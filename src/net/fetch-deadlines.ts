import { createLinkedAbort, type LinkedAbort } from '../lib/linked-abort.ts';
import { createTimeoutError } from './fetch-errors.ts';

/** The deadlines of a fetch as one signal, which aborts with the caller's signal or with a timeout error. */
export interface FetchDeadlines {
  readonly signal: AbortSignal;
  /** Starts a phase with its own limit and ends the one before. @param action As in "more than 5 s to connect". */
  startPhase(action: string, ms: number): void;
  /** Ends the phase; only the total limit stays. */
  endPhase(): void;
  close(): void;
}

export function createFetchDeadlines(callerSignal: AbortSignal | undefined, totalMs: number): FetchDeadlines {
  const abort: LinkedAbort = createLinkedAbort(callerSignal ?? new AbortController().signal);
  let phaseTimer: NodeJS.Timeout | undefined;
  const totalTimer = setTimeout(() => abort.abort(createTimeoutError('in all', totalMs)), totalMs);
  return {
    signal: abort.signal,
    startPhase(action, ms) {
      clearTimeout(phaseTimer);
      phaseTimer = setTimeout(() => abort.abort(createTimeoutError(action, ms)), ms);
    },
    endPhase: () => clearTimeout(phaseTimer),
    close() {
      clearTimeout(phaseTimer);
      clearTimeout(totalTimer);
      abort.unlink();
    },
  };
}
