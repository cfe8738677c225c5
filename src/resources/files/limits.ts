/**
 * Limits of this folder. Each name contains the unit; each comment says what happens beyond the limit and where the
 * value comes from. `src/core/limits.ts` has those of several modules; docs/limits.md lists all.
 */

/** Unicode code points of a file's name. Beyond: the middle is removed and the extension kept. */
export const FILE_NAME_CODE_POINTS_MAX = 255;

/** Unicode code points of a file's description. Beyond: 400. */
export const FILE_DESCRIPTION_CODE_POINTS_MAX = 1_000;

/**
 * Bytes reserved for a file of unknown length: the first reservation, and the largest single one. In between each
 * reservation doubles the file's size, so that small files do not block capacity and large files need few reservations.
 */
export const FILE_RESERVE_BYTES_MIN = 64 * 1024;
export const FILE_RESERVE_BYTES_MAX = 16 * 1024 * 1024;

/**
 * Ms that an upload waits for storage capacity reserved by others, and that the latest of several uploads waits. The
 * latest is rejected first, so that the others can continue. Beyond: the upload is rejected.
 */
export const FILE_QUOTA_WAIT_MS = 20_000;
export const FILE_QUOTA_WAIT_LAST_MS = 2_000;

/**
 * Ms between polls for free capacity, and between attempts to reserve it when polls show none. Once the latest upload
 * has waited long enough, uploads are rejected one by one at the interval of the attempts until the rest fit.
 */
export const FILE_QUOTA_POLL_MS = 25;
export const FILE_QUOTA_RETRY_MS = 100;

/** Ms between such heartbeats. */
export const FILE_LEASE_RENEW_MS = 15_000;

/** Ms between comparisons of all blobs with their records. */
export const FILE_RECONCILE_INTERVAL_MS = 3_600_000;

/**
 * Minimum age in ms of a blob, or a part of one, that is removed because it has no record. Longer than any upload. A
 * record or a reservation decides otherwise.
 */
export const FILE_ORPHAN_AGE_MS = 24 * 3_600_000;

/**
 * Attempts to extract the text of a document when the document is not the cause of the failure. Beyond: its status is
 * `error`.
 */
export const EXTRACT_ATTEMPTS_MAX = 3;

/** Ms until an upload in parts expires (docs/wire/openai-compatible.md#uploads). Beyond: 400, and its parts are removed. */
export const UPLOAD_LIFETIME_MS = 3_600_000;

/** Ms that an expired upload is still known, so that its completion may end and late requests get its status. */
export const UPLOAD_GRACE_MS = 3_600_000;

/** Bytes of one part of an upload (docs/wire/openai-compatible.md#uploads). Beyond: 413. */
export const UPLOAD_PART_BYTES_MAX = 64 * 1024 * 1024;

/** Pending uploads in parts of a workspace in a region; each takes a row for an hour. Beyond: 400. */
export const UPLOADS_PENDING_MAX = 1_000;

/** Part ids of one completion: more than 8 GB in parts of 1 MB have. Beyond: 400. */
export const UPLOAD_PARTS_MAX = 10_000;
