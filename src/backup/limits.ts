/**
 * Limits of this folder. Each name contains the unit; each comment says what happens beyond the limit and where the
 * value comes from. `src/core/limits.ts` has those of several modules; docs/limits.md lists all.
 */

/** Blobs that a backup or a restore copies at a time. */
export const BACKUP_COPY_CONCURRENCY = 4;

/** Bytes of a file in the data folder. Beyond: it is not part of a backup, like models and caches. */
export const BACKUP_FILE_BYTES_MAX = 16 * 1024 * 1024;

/** Bytes of plain text per authenticated chunk of an encrypted object. */
export const ENCRYPTED_CHUNK_BYTES = 64 * 1024;

/** Bytes of a passphrase or key file. Beyond, or below: refused. */
export const ENCRYPTION_SECRET_BYTES_MIN = 12;
export const ENCRYPTION_SECRET_BYTES_MAX = 64 * 1024;

/** Ms that a backup waits for the lock of the data folder, which the service takes for moments. Beyond: refused. */
export const BACKUP_LOCK_WAIT_MS = 2_000;

/** Free bytes that a backup leaves on a disk for which it writes a copy of the database. */
export const BACKUP_SPARE_BYTES = 64 * 1024 * 1024;
