/**
 * Limits of this folder. Each name contains the unit; each comment says what happens beyond the limit and where the
 * value comes from. `src/core/limits.ts` has those of several modules; docs/limits.md lists all.
 */

/**
 * Ms after which a revoked key is rejected by every process, at the latest. Together with KEY_CHECK_MS, running work of
 * the key ends within 5 s.
 */
export const KEY_CACHE_MS = 3_000;

/** Keys in the key cache. Beyond: the oldest entry is evicted and read again when needed. */
export const KEY_CACHE_ENTRIES_MAX = 10_000;

/** Characters of a workspace name. Beyond: the creation of a key fails. */
export const WORKSPACE_CHARS_MAX = 64;

/** Unicode code points of a key's name. Beyond: the creation of the key fails. */
export const KEY_NAME_CODE_POINTS_MAX = 64;

/** Characters of an API key in a request. Beyond: the key is unknown, without a lookup. */
export const KEY_SECRET_CHARS_MAX = 256;

/** Ms between two writes of the last use of keys. A killed process loses the uses since its last write. */
export const KEY_USE_WRITE_MS = 60_000;

/** Keys whose last use one statement writes. Beyond: further statements. */
export const KEY_USE_WRITE_IDS_MAX = 500;

/** Keys in one page of a list. */
export const KEY_PAGE_MAX = 500;

/**
 * Metadata pairs, and code points of a key and of a value (docs/wire/openai-compatible.md#conversations). Beyond: 400.
 */
export const METADATA_PAIRS_MAX = 16;
export const METADATA_KEY_CODE_POINTS_MAX = 64;
export const METADATA_VALUE_CODE_POINTS_MAX = 512;

/** Bytes of JSON in such a page. Beyond: the page is shorter, with at least one item, and says that more exist. */
export const ITEM_PAGE_BYTES_MAX = 16 * 1024 * 1024;

/** Ms between removals of expired data. */
export const RETENTION_INTERVAL_MS = 3_600_000;

/** Conversations or responses per page of the operator's commands. A removal deletes each page in one transaction. */
export const OPERATOR_PAGE_MAX = 50;

/** Ms without a heartbeat after which a reservation expires and its capacity is released. */
export const FILE_LEASE_MS = 60_000;

/** Ms between removals of expired reservations and of files whose deletion was interrupted. */
export const FILE_CLEANUP_INTERVAL_MS = 30_000;

/** Files per page of these removals and comparisons. */
export const FILE_CLEANUP_PAGE_MAX = 200;

/** Ms between checks whether a batch with a reservation still exists. */
export const BATCH_RESERVATION_CHECK_MS = 3_600_000;

/** Priority of jobs; lower numbers run first. */
export const JOB_PRIORITY_DEFAULT = 5;

/** Consecutive attempts of a job that may fail or crash. Beyond: the job fails. */
export const JOB_ATTEMPTS_DEFAULT = 5;

/** Deployments of a workspace in a region; each adds metric labels and is known to every process. Beyond: rejected. */
export const DEPLOYMENTS_MAX = 100;

/** Characters of a deployment's suffix (docs/wire/dashscope-native.md#deployments). Beyond: 400. */
export const DEPLOYMENT_SUFFIX_CHARS_MAX = 8;

/** Characters of the base model's name in a deployment's name, which must fit into a path. Beyond: model not found. */
export const DEPLOYMENT_MODEL_CHARS_MAX = 128;

/** Events kept per deployment. Beyond: the oldest are removed; the log still has them. */
export const DEPLOYMENT_EVENTS_MAX = 200;

/** Characters of the reason of a deployment event. Beyond: truncated. */
export const DEPLOYMENT_REASON_CHARS_MAX = 500;

/** Ms between updates of each process's snapshot of all deployments, which is used to route requests. */
export const DEPLOYMENT_SNAPSHOT_MS = 500;

/** Attempts to generate an unused random name. Beyond: rejected as already used. */
export const DEPLOYMENT_NAME_ATTEMPTS_MAX = 5;
