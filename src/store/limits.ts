/**
 * Limits of this folder. Each name contains the unit; each comment says what happens beyond the limit and where the
 * value comes from. `src/core/limits.ts` has those of several modules; docs/limits.md lists all.
 */

/** Ms that a query waits for another process's lock on the database. Beyond: the query fails. */
export const STORE_BUSY_MS_MAX = 5_000;

/** Prepared statements cached per connection. Beyond: the least recently used one is prepared again when needed. */
export const STORE_STATEMENTS_MAX = 200;
