/**
 * Limits of this folder. Each name contains the unit; each comment says what happens beyond the limit and where the
 * value comes from. `src/core/limits.ts` has those of several modules; docs/limits.md lists all.
 */

/** Background responses that one process generates concurrently. Beyond: they wait. */
export const BACKGROUND_RESPONSE_CONCURRENCY = 32;

/**
 * Ms since its creation during which a background response retries when its conversation is in use or a queue is full.
 * Beyond: it fails with that error.
 */
export const BACKGROUND_WAIT_MS = 600_000;

/** Ms between these retries. */
export const BACKGROUND_RETRY_MS = 1_000;

/** Ms until a failed callback of a batch is repeated: the first pause, doubled up to the maximum. */
export const CALLBACK_RETRY_MS_MIN = 120_000;
export const CALLBACK_RETRY_MS_MAX = 3_600_000;

/** Bytes of a callback's response that are read and discarded. Beyond: the connection is closed. */
export const CALLBACK_ANSWER_BYTES_MAX = 64 * 1024;

/** Ms until capacity that exceeded the machine is tried again, as long as it is requested. */
export const DEPLOYMENT_CAPACITY_RETRY_MS = 30_000;

/** Ms between checks whether the last call of a removed deployment has ended. */
export const DEPLOYMENT_DRAIN_POLL_MS = 1_000;

/**
 * Ms until a failed start of a deployment is repeated: first and maximum pause. Five attempts take a little over a
 * minute.
 */
export const DEPLOYMENT_RETRY_MS_MIN = 5_000;
export const DEPLOYMENT_RETRY_MS_MAX = 60_000;

/** Deployment jobs that one process runs concurrently; they mostly wait for engines. Beyond: they wait. */
export const DEPLOYMENT_JOB_CONCURRENCY = 8;

/**
 * Ms after which a deployment job makes room for the next one, which may be a short one such as a delete. Its engines
 * continue to start: large models load for minutes.
 */
export const DEPLOYMENT_JOB_SLICE_MS = 20_000;
