/**
 * Limits of this folder. Each name contains the unit; each comment says what happens beyond the limit and where the
 * value comes from. `src/core/limits.ts` has those of several modules; docs/limits.md lists all.
 */

/**
 * Bytes of a database whose pages are checked before the start: half a second when it was in memory already. Beyond:
 * they are checked while the service runs.
 */
export const DATABASE_START_CHECK_BYTES_MAX = 128 * 1024 * 1024;

/** Ms to connect to a callback's server, until its response headers, and in total. Beyond: repeated later. */
export const CALLBACK_CONNECT_MS = 5_000;
export const CALLBACK_HEAD_MS = 15_000;
export const CALLBACK_TOTAL_MS = 30_000;

/** Ms during which a worker process collects token usage before it reports the usage to the primary process. */
export const QUOTA_REPORT_MS = 100;

/** Ms between two checks whether the files of the TLS certificate have changed: the delay until a new one is used. */
export const TLS_FILES_POLL_MS = 2_000;

/** Copies of the database from before migrations that are kept. Beyond: the oldest is removed. */
export const MIGRATION_BACKUPS_MAX = 3;

/** Free bytes that remain after such a copy. Beyond: the migration is refused. */
export const MIGRATION_SPARE_BYTES = 64 * 1024 * 1024;
