import type { JobProgress } from '../core/job.ts';

/** Progress that was reported but not written to the store yet. */
export interface PendingProgress {
  readonly progress?: JobProgress | undefined;
  readonly hasAdvanced: boolean;
}

const NOTHING_PENDING: PendingProgress = { hasAdvanced: false };

/** Collects the progress of a job attempt until the lease writes it. */
export interface ProgressTracker {
  report(progress: JobProgress): void;
  /** Returns the pending progress. */
  peek(): PendingProgress;
  /** Returns the pending progress and clears it; `restore` puts it back if the write fails. */
  take(): PendingProgress;
  restore(taken: PendingProgress): void;
}

/**
 * Detects whether a job advances: `done` exceeds its highest value so far in the same step. A new step counts from its
 * first reported value; the very first step counts from 0. A job that always dies at the same point does not advance,
 * because the highest value of its last step is known.
 *
 * @param last Progress written by the previous attempt.
 */
export function createProgressTracker(last: JobProgress | undefined): ProgressTracker {
  const highest = new Map<string | undefined, number>(last ? [[last.step, last.done]] : []);
  let pending = NOTHING_PENDING;
  return {
    report(progress) {
      const { step, done } = progress;
      const before = highest.get(step) ?? (highest.size === 0 ? 0 : done);
      highest.set(step, Math.max(before, done));
      pending = { progress, hasAdvanced: pending.hasAdvanced || done > before };
    },
    peek: () => pending,
    take() {
      const taken = pending;
      pending = NOTHING_PENDING;
      return taken;
    },
    restore(taken) {
      pending = { progress: pending.progress ?? taken.progress, hasAdvanced: pending.hasAdvanced || taken.hasAdvanced };
    },
  };
}
