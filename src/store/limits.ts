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

/** Bytes of SQLite's write-ahead log that stay allocated after a checkpoint. Beyond: the file is cut. */
export const STORE_WAL_BYTES_KEPT = 64 * 1024 * 1024;

/** Database pages that one step releases to the disk, about 1 MB. The step blocks writers for some milliseconds. */
export const STORE_RECLAIM_PAGES = 250;

/** Steps of one run. Beyond: the next run continues. */
export const STORE_RECLAIM_STEPS_MAX = 200;

/** Ms between these runs, and between the steps of one. */
export const STORE_RECLAIM_INTERVAL_MS = 60_000;
export const STORE_RECLAIM_PAUSE_MS = 100;

/** Share of unused pages that a database keeps for its next rows. Beyond: they are released. */
export const STORE_FREE_SHARE_MAX = 0.1;
