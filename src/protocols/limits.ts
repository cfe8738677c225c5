/**
 * Limits of this folder. Each name contains the unit; each comment says what happens beyond the limit and where the
 * value comes from. `src/core/limits.ts` has those of several modules; docs/limits.md lists all.
 */

/** Largest `top_logprobs` (docs/wire/openai-compatible.md#chat-logprobs). Beyond: 400. */
export const TOP_LOGPROBS_MAX = 5;

/** Stop sequences in one request. Beyond: 400. */
export const STOP_SEQUENCES_MAX = 16;

/** Unicode code points of one stop string. Beyond: 400. */
export const STOP_CODE_POINTS_MAX = 256;

/** Messages in one request; far above any context length. Beyond: 400. */
export const MESSAGES_MAX = 10_000;

/** Items that are created or read in one step, before others have their turn. Thousands at once would take some 100 ms. */
export const ITEMS_PER_STEP = 500;

/** Parts in the content of one message. Beyond: 400. */
export const PARTS_MAX = 1_000;

/** Field names in the header x-parley-ignored. Beyond: the other names are omitted. */
export const IGNORED_NAMES_MAX = 20;

/** Bytes of the header x-parley-ignored. Beyond: the other names are omitted. */
export const IGNORED_BYTES_MAX = 1024;

/** Largest absolute logit bias (OpenAI's range, which its clients also check). Beyond: 400. */
export const LOGIT_BIAS_MAX = 100;

/** Entries of one `logit_bias`. Beyond: 400. */
export const LOGIT_BIAS_ENTRIES_MAX = 1_024;

/** Tools in one request. Beyond: 400. */
export const TOOLS_MAX = 512;

/** Characters of a tool's name: the length of 64 tokens of code-like text. Beyond: 400. */
export const TOOL_NAME_CHARS_MAX = 512;

/**
 * Characters of the name of a response format's schema (docs/wire/openai-compatible.md#chat-json-output). Beyond: 400.
 */
export const SCHEMA_NAME_CHARS_MAX = 64;

/** Documents of one reranking request. Beyond: 400. */
export const RERANK_DOCUMENTS_MAX = 500;

/** Texts of one embedding request (docs/wire/dashscope-native.md#embeddings). Beyond: 400. */
export const EMBEDDING_TEXTS_MAX = 10;

/** Texts of one request for `text-embedding-v1` or `-v2` (docs/wire/dashscope-native.md#embeddings). Beyond: 400. */
export const EMBEDDING_TEXTS_EARLY_MAX = 25;

/** Terms and translation memory pairs of one request. Beyond: 400. */
export const TRANSLATION_PAIRS_MAX = 2_000;

/** Bytes of an upload besides its files. Beyond: 413. */
export const UPLOAD_EXTRA_BYTES_MAX = 4 * 1024 * 1024;

/** Hosts in the allow or block list of a search (docs/wire/dashscope-native.md#web-search). Beyond: 400. */
export const SEARCH_SITES_MAX = 25;

/** Code points of the caller's text on when and for what to search. Beyond: 400. */
export const SEARCH_HINT_CODE_POINTS_MAX = 2_000;

/** Largest number of uses of a server tool that a caller may allow for one answer. Beyond: 400. */
export const SERVER_TOOL_USES_MAX = 1_000;

/** Characters of a citation's `cited_text` (docs/wire/anthropic-compatible.md#messages-response). Beyond: truncated. */
export const CITED_TEXT_CHARS_MAX = 150;
