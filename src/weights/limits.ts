/**
 * Limits of this folder. Each name contains the unit; each comment says what happens beyond the limit and where the
 * value comes from. `src/core/limits.ts` has those of several modules; docs/limits.md lists all.
 */

/** Ms for the model hub to respond. Beyond: the next source is tried. */
export const HUB_CONNECT_MS = 5_000;

/** Ms without data during a download. Beyond: the connection is closed and the download resumed. */
export const HUB_STALL_MS = 30_000;

/** Consecutive download attempts without any data. Beyond: the download fails. */
export const HUB_EMPTY_ATTEMPTS_MAX = 3;

/** Ms between two such attempts. */
export const HUB_RETRY_MS = 2_000;

/** Bytes of a file whose size the hub does not state. Beyond: the download fails. Hubs state it. */
export const HUB_UNSTATED_BYTES_MAX = 1024 ** 3;

/** Redirects of one download; hubs send one or two. Beyond: the download fails. */
export const HUB_REDIRECTS_MAX = 5;

/** Wheels that are downloaded concurrently. More do not help on one network link. */
export const WHEEL_DOWNLOAD_CONCURRENCY = 3;

/** Bytes of a package index page. Beyond: the download fails. */
export const INDEX_PAGE_BYTES_MAX = 32 * 1024 * 1024;

/** Files and folders in the archive of a runtime; real archives have up to 200. Beyond: the archive is rejected. */
export const TAR_ENTRIES_MAX = 10_000;

/** Bytes of one file in such an archive. Beyond: the archive is rejected. */
export const TAR_ENTRY_BYTES_MAX = 512 * 1024 * 1024;

/** Ms between checks of a process that waits for another process's download. */
export const PULL_LOCK_POLL_MS = 1_000;

/** Restarts of one download because the file on the hub changed. Beyond: the download fails. */
export const HUB_RESTARTS_MAX = 3;

/** Tensors of a model file; large models have 2,000. Beyond: the file is malformed, and no engine loads it. */
export const GGUF_TENSORS_MAX = 32_768;

/** Metadata entries of a model file; real files have up to 100. Beyond: the file is malformed. */
export const GGUF_ENTRIES_MAX = 4_096;

/** Bytes before the tensors of a model file; a vocabulary of 260,000 tokens takes 20 MB. Beyond: the file is malformed. */
export const GGUF_HEADER_BYTES_MAX = 256 * 1024 * 1024;

/** Characters of an answer of the hub's API; a list of 1,000 files has 400,000. Beyond: the command fails. */
export const HUB_ANSWER_CHARS_MAX = 16 * 1024 * 1024;

/** Pages of a repository's file list; a page has 1,000 files. Beyond: the command fails. */
export const HUB_LIST_PAGES_MAX = 20;

/** Repositories that `models search` shows. Beyond: the less popular ones are left out. */
export const HUB_SEARCH_HITS_MAX = 20;

/** Ms for one answer of the hub's API, from the request to its last byte. Beyond: the command fails. */
export const HUB_ANSWER_MS = 30_000;

/** Bytes per second that the check of weights in the background reads. Faster disks are left to the engines. */
export const WEIGHTS_CHECK_BYTES_PER_SECOND = 64 * 1024 * 1024;

/** Ms from the first use of weights to their check in the background, so that the check does not slow their loading. */
export const WEIGHTS_CHECK_DELAY_MS = 10_000;
