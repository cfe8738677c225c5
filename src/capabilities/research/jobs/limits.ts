/**
 * Limits of this folder. Each name contains the unit; each comment says what happens beyond the limit and where the
 * value comes from. `src/core/limits.ts` has those of several modules; docs/limits.md lists all.
 */

/** Ms between the checks of a running run: its readers, its key, its deadline, its cancellation. */
export const RESEARCH_RUN_POLL_MS = 1_000;

/** Runs that one process executes concurrently. Beyond: they wait. */
export const RESEARCH_RUN_CONCURRENCY = 8;

/** Ms beyond the time budget in which a run must write its report. Beyond: the run fails. */
export const RESEARCH_REPORT_GRACE_MS = 30 * 60_000;

/**
 * Ms since the last completed step during which a step is repeated that was rejected temporarily, e.g. by a full queue.
 * Beyond: the run fails with that error.
 */
export const RESEARCH_WAIT_MS = 120_000;

/** Ms until such a step is repeated: the first pause, doubled with each consecutive rejection up to the maximum. */
export const RESEARCH_RETRY_MS_MIN = 1_000;
export const RESEARCH_RETRY_MS_MAX = 15_000;
