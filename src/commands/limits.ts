/**
 * Limits of this folder. Each name contains the unit; each comment says what happens beyond the limit and where the
 * value comes from. `src/core/limits.ts` has those of several modules; docs/limits.md lists all.
 */

/** Jobs that `parley jobs list` shows: the default, and the maximum. Beyond: the command fails. */
export const JOB_LIST_DEFAULT = 20;
export const JOB_LIST_MAX = 500;
