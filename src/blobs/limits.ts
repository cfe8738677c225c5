/**
 * Limits of this folder. Each name contains the unit; each comment says what happens beyond the limit and where the
 * value comes from. `src/core/limits.ts` has those of several modules; docs/limits.md lists all.
 */

/** Bytes of an upload per disk write. About twice as many are in memory during the upload. */
export const DISK_WRITE_BYTES = 1024 * 1024;

/**
 * Bytes of a stored file that are hashed as one block, and verified before any of them is returned. One block per
 * reader is in memory. A part of the format of the database: never change it.
 */
export const BLOB_BLOCK_BYTES = 256 * 1024;

/** Bytes of a stored file that are read ahead: one block, which is then verified without a copy. */
export const DISK_READ_BYTES = BLOB_BLOCK_BYTES;

/**
 * Bytes of an S3 part: at least 5 MiB except the last (S3). Small parts need little memory; equal sizes are required by
 * R2.
 */
export const S3_PART_BYTES = 5 * 1024 * 1024;

/** Parts of one object (S3), thus 48 GB. Beyond: the upload is rejected as too large. */
export const S3_PARTS_MAX = 10_000;

/** Parts of one upload that are sent while the next is collected. Beyond: the client waits. */
export const S3_PARTS_AHEAD = 2;

/**
 * Bytes of an upload in memory before they are written to the disk, which collects its parts. Divides the part size.
 */
export const S3_SPOOL_WRITE_BYTES = 256 * 1024;

/** Parts in memory for all uploads of a store together. Beyond: parts wait on the disk, in order. */
export const S3_PARTS_IN_MEMORY_MAX = 16;

/** Connections to the object store. A download occupies one while it runs. Beyond: calls wait. */
export const S3_SOCKETS_MAX = 512;

/**
 * Ms to connect, to receive the headers of a response, and without data on a connection. Beyond: retried, then failed.
 */
export const S3_CONNECT_MS = 5_000;
export const S3_HEAD_MS = 60_000;
export const S3_IDLE_MS = 120_000;

/** Ms for the object store to respond to a request whose caller is gone. Beyond: the request is aborted. */
export const S3_GRACE_MS = 5_000;

/**
 * Free bytes that uploads leave on the disk, so that the database can still be written. On a small disk:
 * `DISK_KEPT_SHARE` of it. Beyond: 503.
 */
export const DISK_KEPT_BYTES_MAX = 64 * 1024 * 1024;

/** Share of the disk that uploads leave free, at most `DISK_KEPT_BYTES_MAX`. */
export const DISK_KEPT_SHARE = 0.1;
/** Ms between checks whether the backup has ended that postpones deletions of blobs. */
export const POSTPONED_DELETION_POLL_MS = 2_000;
