/**
 * Limits of this folder. Each name contains the unit; each comment says what happens beyond the limit and where the
 * value comes from. `src/core/limits.ts` has those of several modules; docs/limits.md lists all.
 */

/** Jobs of one kind that a process runs concurrently, unless the kind has another limit. Beyond: they wait. */
export const JOB_CONCURRENCY_DEFAULT = 8;

/** Cancelled waiting jobs that a process finishes concurrently, outside the limit above. Beyond: they wait. */
export const JOB_CANCEL_CONCURRENCY = 16;

/**
 * Share of a kind's concurrency in a process that is not available to a single workspace, at least one of several jobs.
 * Beyond: its jobs wait.
 */
export const JOB_OTHER_WORKSPACES_SHARE = 0.25;

/** Ms between polls for jobs that are due, and for the process's jobs that another process has cancelled. */
export const JOB_POLL_MS = 1_000;

/** Ms without a heartbeat after which another process may claim a job. */
export const JOB_LEASE_MS = 20_000;

/** Ms between such heartbeats, which also store the progress. */
export const JOB_LEASE_RENEW_MS = 2_500;

/** Ms for running jobs to stop when their process shuts down. Beyond: they are released as they are. */
export const JOB_GRACE_MS = 5_000;

/** Ms until a failed job is repeated: the first pause, doubled with each consecutive failure up to the maximum. */
export const JOB_RETRY_MS_MIN = 2_000;
export const JOB_RETRY_MS_MAX = 300_000;

/** Characters of a job's error message. Beyond: truncated. */
export const JOB_ERROR_CHARS_MAX = 1_000;

/** Ms between removals of such jobs, and jobs per removal. */
export const JOB_CLEANUP_INTERVAL_MS = 3_600_000;
export const JOB_CLEANUP_PAGE_MAX = 500;
