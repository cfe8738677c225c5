/**
 * Limits of this folder. Each name contains the unit; each comment says what happens beyond the limit and where the
 * value comes from. `src/core/limits.ts` has those of several modules; docs/limits.md lists all.
 */

/**
 * Minimum characters, blanks excluded, for lines after a gap to count as repeated when a fill-in-the-middle answer
 * contains them. A smaller number suffices when these are all lines after the gap, or all lines at the end of the
 * answer.
 */
export const REPEATED_CHARS_MIN = 12;

/**
 * The smaller number of the comment above. Even shorter lines (`}`, `);`) prove nothing, as many answers end with them.
 */
export const REPEATED_CHARS_ALONE_MIN = 6;

/** Characters of a line that are compared. Lines that differ only beyond them count as equal. */
export const REPEATED_LINE_CHARS_MAX = 200;

/** Tokens of a function's name, counted by the model (docs/wire/openai-compatible.md#chat-request). Beyond: 400. */
export const TOOL_NAME_TOKENS_MAX = 64;

/** Ms to check one answer against its schema. Beyond: the answer fails, as an invalid one does. */
export const ANSWER_CHECK_MS_MAX = 2_000;

/** Megabytes of JavaScript heap for this check. Beyond: the same. */
export const ANSWER_CHECK_HEAP_MB = 192;

/** Answers that wait for their check. Beyond: 503. One key may use half of the queue. */
export const ANSWER_CHECK_QUEUE_MAX = 64;

/** Ms that an answer may wait for its check. Beyond: 503. */
export const ANSWER_CHECK_WAIT_MS_MAX = 20_000;

/** Compiled schema checks cached by the checking thread. Beyond: the least recently used one is evicted. */
export const ANSWER_CHECK_CACHE_ENTRIES_MAX = 64;

/** Total characters of their schemas; the compiled automata take many times as many bytes. Beyond: the same. */
export const ANSWER_CHECK_CACHE_CHARS_MAX = 256 * 1024;

/**
 * Tokens of a text to translate, with its terms, memory and domain (docs/wire/dashscope-native.md#translation-rules).
 * Beyond: 400.
 */
export const TRANSLATION_INPUT_TOKENS_MAX = 8_192;

/** Approximate tokens of a segment that is translated in one generation. A longer line is split between sentences. */
export const TRANSLATION_SEGMENT_TOKENS_MAX = 128;

/**
 * Share of the context that is reserved for the answer when older turns are dropped: the default, and the maximum by
 * the caller's token limit.
 */
export const ANSWER_SHARE_DEFAULT = 1 / 8;
export const ANSWER_SHARE_MAX = 1 / 2;

/** Bytes of their texts; more than any context length. Beyond: 400, with both numbers. */
export const REQUEST_DOCUMENT_BYTES_MAX = 16 * 1024 * 1024;

/**
 * Deployments whose usage per minute is tracked. Beyond: the least recently used one is evicted and starts at 0 again.
 */
export const QUOTA_DEPLOYMENTS_TRACKED_MAX = 10_000;

/** Maximum seconds in Retry-After for a quota per minute, also for a quota that never suffices. */
export const QUOTA_RETRY_SECONDS_MAX = 600;

/**
 * Request ids that are known to be counted, so that several generations of one request count once. Beyond: counted
 * again.
 */
export const QUOTA_REQUESTS_TRACKED_MAX = 10_000;

/**
 * Cached texts of documents sent within requests, and their bytes. Beyond: the least recently used text is extracted
 * again.
 */
export const DOCUMENT_CACHE_ENTRIES_MAX = 32;
export const DOCUMENT_CACHE_BYTES_MAX = 32 * 1024 * 1024;

/** Characters of a source that are compared with the answer's sentences. Beyond: ignored. */
export const CITATION_SOURCE_CHARS_MAX = 60_000;

/** Characters of a cited sentence. Beyond: truncated. */
export const CITATION_QUOTE_CHARS_MAX = 300;

/**
 * Characters of an answer's sentence that are held back until its citations are known. Beyond: it counts as two
 * sentences.
 */
export const CITED_SENTENCE_CHARS_MAX = 2_000;

/**
 * Tokens of the summary that replaces a compacted history. Beyond: the summary ends there. Less where the context is
 * small.
 */
export const SUMMARY_TOKENS_MAX = 2_048;

/** Model runs that summarize one history, each with the next part of it. Beyond: the oldest parts are dropped. */
export const SUMMARY_PARTS_MAX = 16;

/** Estimated tokens of such a part. A model whose context holds less gets the 400 of a too long prompt. */
export const SUMMARY_PART_TOKENS_MIN = 32;

/** Different URLs of images in one request. Beyond: 400. Images within the request do not count. */
export const REQUEST_IMAGE_URLS_MAX = 64;

/** Bytes of an image that is fetched, and ms to fetch it. Beyond: 400. */
export const IMAGE_BYTES_MAX = 10 * 1024 * 1024;
export const IMAGE_FETCH_MS_MAX = 30_000;

/** Images of one request that are fetched at a time. */
export const IMAGE_FETCH_CONCURRENCY = 4;
