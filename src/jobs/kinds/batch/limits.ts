/**
 * Limits of this folder. Each name contains the unit; each comment says what happens beyond the limit and where the
 * value comes from. `src/core/limits.ts` has those of several modules; docs/limits.md lists all.
 */

/**
 * Lines of a batch's input, and of a dry run's input (docs/wire/openai-compatible.md#batches). Beyond: the batch fails.
 */
export const BATCH_LINES_MAX = 50_000;
export const BATCH_TEST_LINES_MAX = 100;

/** Bytes of one line of the input (docs/wire/openai-compatible.md#files). Beyond: the line goes to the error file. */
export const BATCH_LINE_BYTES_MAX = 6 * 1024 * 1024;

/** Unicode code points of a `custom_id`. Beyond: the line goes to the error file. */
export const BATCH_CUSTOM_ID_CODE_POINTS_MAX = 256;

/** Batches that one process runs concurrently. Beyond: they wait. */
export const BATCH_JOB_CONCURRENCY = 32;

/** Results of a batch per write, their bytes, and the ms that the first of them waits for more. */
export const BATCH_GROUP_RESULTS_MAX = 32;
export const BATCH_GROUP_BYTES_MAX = 1024 * 1024;
export const BATCH_GROUP_MS = 50;

/** Bytes of a batch's input per read, so that no connection stays open while its lines run. */
export const BATCH_READ_BYTES = 1024 * 1024;

/** Lines of a batch per query for existing results. */
export const BATCH_RESULT_LOOKUP_LINES = 1_000;

/** Ms between checks whether the completion window of a running batch has ended. */
export const BATCH_WINDOW_POLL_MS = 1_000;

/**
 * Ms that a batch pauses after a line was rejected for lack of capacity: the first pause, doubled up to the maximum.
 */
export const BATCH_BACKOFF_MS_MIN = 500;
export const BATCH_BACKOFF_MS_MAX = 30_000;
