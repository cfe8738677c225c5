/**
 * Limits of this folder. Each name contains the unit; each comment says what happens beyond the limit and where the
 * value comes from. `src/core/limits.ts` has those of several modules; docs/limits.md lists all.
 */

/**
 * Bytes of the input of a batch, and of a dry run (docs/wire/openai-compatible.md#files). Beyond: 400 when the batch is
 * created.
 */
export const BATCH_INPUT_BYTES_MAX = 500 * 1024 ** 2;
export const BATCH_TEST_BYTES_MAX = 1024 ** 2;

/** Unicode code points of a batch's name and description (docs/wire/openai-compatible.md#batches). Beyond: 400. */
export const BATCH_NAME_CODE_POINTS_MAX = 100;
export const BATCH_DESCRIPTION_CODE_POINTS_MAX = 200;

/**
 * Age in ms of batches in a list (docs/wire/openai-compatible.md#batches). Older batches are found by their ids only.
 */
export const BATCH_LIST_AGE_MS = 30 * 24 * 3_600_000;

/** Minimum bytes reserved for the results of a batch; otherwise twice the size of its input. */
export const BATCH_RESERVE_BYTES_MIN = 1024 ** 2;

/** Results read per query while a file is written, and removed per query afterwards. */
export const BATCH_RESULTS_PAGE_MAX = 32;
export const BATCH_RESULTS_REMOVED_MAX = 500;

/**
 * Consecutive attempts of a batch job that may fail or crash without completing a line. Beyond: the batch fails. High,
 * because hours of work are at stake: with the pauses in between, failures of an hour and a half are tolerated.
 */
export const BATCH_ATTEMPTS_MAX = 25;
