/**
 * Limits of this folder. Each name contains the unit; each comment says what happens beyond the limit and where the
 * value comes from. `src/core/limits.ts` has those of several modules; docs/limits.md lists all.
 */

/** Prompts of one text completion; they are processed one after another. Beyond: 400. */
export const PROMPTS_MAX = 16;

/** Names in `include` of one response; clients use about a dozen. Beyond: 400. */
export const INCLUDES_MAX = 64;

/**
 * Files of one page of the OpenAI-compatible list; also the default (docs/wire/openai-compatible.md#files). Beyond:
 * 400.
 */
export const FILE_LIST_MAX = 2_000;

/** Hours of a completion window (docs/wire/openai-compatible.md#batches). Outside: 400. */
export const BATCH_WINDOW_HOURS_MIN = 24;
export const BATCH_WINDOW_HOURS_MAX = 336;

/** Batches of one page of a list, and the default (docs/wire/openai-compatible.md#batches). Beyond: 400. */
export const BATCH_PAGE_MAX = 100;
export const BATCH_PAGE_DEFAULT = 20;

/** Input files that a list may name (docs/wire/openai-compatible.md#batches). Beyond: 400. */
export const BATCH_LIST_FILES_MAX = 20;
