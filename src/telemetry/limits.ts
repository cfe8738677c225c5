/**
 * Limits of this folder. Each name contains the unit; each comment says what happens beyond the limit and where the
 * value comes from. `src/core/limits.ts` has those of several modules; docs/limits.md lists all.
 */

/** Characters of log lines that wait to be written. Beyond: lines are dropped and counted. */
export const LOG_BUFFER_CHARS_MAX = 4 * 1024 * 1024;

/** Deployments with metrics of their own. Beyond: counted together as `other`. */
export const DEPLOYMENT_SERIES_MAX = 1_000;
