/**
 * Limits of this folder. Each name contains the unit; each comment says what happens beyond the limit and where the
 * value comes from. `src/core/limits.ts` has those of several modules; docs/limits.md lists all.
 */

/** Jobs that `parley jobs list` shows: the default, and the maximum. Beyond: the command fails. */
export const JOB_LIST_DEFAULT = 20;
export const JOB_LIST_MAX = 500;

/** Stored files that `parley check` reads at a time. Beyond: they wait. */
export const CHECK_READ_CONCURRENCY = 4;

/** Ms for the driver's program to list the GPUs. Beyond: `models recommend` ignores them. It takes about 100 ms. */
export const GPU_QUERY_MS = 10_000;
