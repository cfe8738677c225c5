/**
 * Limits of this folder. Each name contains the unit; each comment says what happens beyond the limit and where the
 * value comes from. `src/core/limits.ts` has those of several modules; docs/limits.md lists all.
 */

/** Token ids of one stop sequence. Beyond: 400. */
export const STOP_TOKENS_MAX = 256;

/**
 * Minimum ms between events of a stream that repeats the whole answer so far. Text generated meanwhile is collected.
 */
export const CUMULATIVE_EVENT_MS_MIN = 100;

/**
 * Characters per second that such a stream repeats. Beyond: its events are sent less often, so that the number of bytes
 * grows with the duration and not with the square of the answer's length.
 */
export const CUMULATIVE_CHARS_PER_SECOND_MAX = 200_000;

/** Approximate characters of one encoded log probability with its token and bytes. Counts towards the limit above. */
export const LOGPROB_CHARS = 90;

/** Entries of one page of a native list (docs/wire/dashscope-native.md#deployments). Beyond: 400. */
export const PAGE_SIZE_MAX = 200;

/** Page number of a native list. Beyond: 400. */
export const PAGE_NUMBER_MAX = 1_000_000;

/** Files of one page of the native list (docs/wire/dashscope-native.md#files). Beyond: 400. */
export const FILE_PAGE_MAX = 100;

/** Characters of a deployment's display name and other texts that are stored unchanged. Beyond: 400. */
export const DEPLOYMENT_TEXT_CHARS_MAX = 128;

/** Tokens or requests per minute that may be reserved or allowed. Beyond: 400. */
export const DEPLOYMENT_PER_MINUTE_MAX = 1_000_000_000;

/** Tokens of the shortest and the longest context of a deployment. Outside: 400. */
export const DEPLOYMENT_CONTEXT_TOKENS_MIN = 256;
export const DEPLOYMENT_CONTEXT_TOKENS_MAX = 1_048_576;
