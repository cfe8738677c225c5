/**
 * Limits of this folder. Each name contains the unit; each comment says what happens beyond the limit and where the
 * value comes from. `src/core/limits.ts` has those of several modules; docs/limits.md lists all.
 */

/**
 * Ms that other processes may keep the database locked. Beyond: queries that need the lock fail with 503 after one
 * attempt, until an attempt succeeds.
 */
export const STORE_BUSY_MS_MAX = 5_000;

/** Bytes that a disk keeps for removals from the database. On a small disk: `DISK_RESERVE_SHARE` of it. */
export const DISK_RESERVE_BYTES_MAX = 16 * 1024 * 1024;

/** Share of the disk that is kept for removals, at most `DISK_RESERVE_BYTES_MAX`. */
export const DISK_RESERVE_SHARE = 0.05;

/** Ms for which a check of the free space is valid. */
export const DISK_CHECK_INTERVAL_MS = 1_000;

/** Prepared statements cached per connection. Beyond: the least recently used one is prepared again when needed. */
export const STORE_STATEMENTS_MAX = 200;
