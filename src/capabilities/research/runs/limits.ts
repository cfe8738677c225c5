/**
 * Limits of this folder. Each name contains the unit; each comment says what happens beyond the limit and where the
 * value comes from. `src/core/limits.ts` has those of several modules; docs/limits.md lists all.
 */

/** Ms that a deep research run, or its result, waits without a reader. Beyond: it is cancelled. */
export const RESEARCH_UNATTENDED_MS_MAX = 60_000;

/** Ms between heartbeats of a run's readers. The reader of a crashed process counts as gone this much too early. */
export const RESEARCH_READER_HEARTBEAT_MS = 2_000;

/** Ms between a reader's polls for steps of another process, and steps per query. */
export const RESEARCH_READER_POLL_MS = 250;
export const RESEARCH_STEPS_PAGE_MAX = 32;

/** Characters of one step as JSON. Beyond: the run fails. */
export const RESEARCH_STEP_CHARS_MAX = 8 * 1024 * 1024;

/** Ms that a run is kept after its end and after its last reader. Beyond: it is removed. */
export const RESEARCH_RETENTION_MS = 10 * 60_000;

/** Ms between removals of runs that have no reader or are expired, and runs of each per removal. */
export const RESEARCH_CLEANUP_INTERVAL_MS = 5_000;
export const RESEARCH_CLEANUP_PAGE_MAX = 50;
