/**
 * Limits of this folder. Each name contains the unit; each comment says what happens beyond the limit and where the
 * value comes from. `src/core/limits.ts` has those of several modules; docs/limits.md lists all.
 */

/** Seconds in Retry-After for calls of a deployment that is not ready yet. */
export const DEPLOYMENT_RETRY_SECONDS = 5;
