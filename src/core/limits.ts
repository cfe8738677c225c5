/**
 * Limits that several modules share. Each name contains the unit; each comment says what happens beyond the limit and where the
 * value comes from. A comment that names no source describes a choice of Parley. A number such as 400 is the HTTP
 * status of the rejection.
 */

/** Largest seed: 2^31 − 1 (docs/wire/openai-compatible.md#chat-request). Beyond: 400. */
export const SEED_MAX = 2_147_483_647;

/** Largest `n`, the number of choices (docs/wire/openai-compatible.md#chat-request). Beyond: 400. */
export const CHOICES_MAX = 4;

/**
 * Values in a JSON request body, counted by its commas and brackets. Beyond: 400. A body of tiny values takes fifty
 * times its size in memory, and seconds to validate.
 */
export const JSON_VALUES_MAX = 200_000;

/**
 * Members of all objects in a JSON request body, counted by its colons; five for each of MESSAGES_MAX messages. Beyond:
 * 400. Each name costs as much time as ten other values.
 */
export const JSON_MEMBERS_MAX = 50_000;

/** Bytes of a JSON request body; enough for an escaped context of a million tokens. Beyond: 413. */
export const JSON_BODY_BYTES_MAX = 16 * 1024 * 1024;

/**
 * Open connections of one address (of IPv6, one /64 network) to one process, unless it is a trusted proxy. Configurable.
 * Beyond: 429, and the connection is closed.
 */
export const CONNECTIONS_PER_ADDRESS = 1_024;

/**
 * Requests without a valid key that one address may send to one process per minute, unless it is a trusted proxy. Configurable.
 * Beyond: each waits for REFUSAL_DELAY_MS before its key is checked. Requests with a key that was valid before never wait.
 */
export const REFUSALS_PER_ADDRESS = 600;

/**
 * Nesting depth of a JSON request body. Beyond: 400. Protects recursive code (schemas, templates) from stack overflow.
 */
export const JSON_DEPTH_MAX = 64;

/** Log probabilities below this value are sent as null (docs/wire/choices.md#generation). */
export const LOGPROB_MIN = -100;

/**
 * Smallest log probability of a prompt token, sent in place of any smaller one, as OpenAI and vLLM do: programs sum up
 * these numbers, so that none may be missing.
 */
export const PROMPT_LOGPROB_MIN = -9_999;

/** Ms without an event after which a stream sends a keep-alive. Below the default read timeout of nginx, 60 s. */
export const KEEP_ALIVE_MS = 10_000;

/** Ms until a request without streaming fails with RequestTimeOut. Configurable. */
export const DEADLINE_UNSTREAMED_MS = 300_000;

/** Ms until a streamed request fails with RequestTimeOut. Configurable. */
export const DEADLINE_STREAM_MS = 3_600_000;

/** Ms that a request may wait in an engine's queue. Beyond: 503. */
export const QUEUE_WAIT_MS_MAX = 60_000;

/**
 * Share of a model's sequences that a workspace keeps while other workspaces wait, unless `engine.workspaceShare` says
 * otherwise; at least one. Beyond: its answers are interrupted for those of the others, and continue later.
 */
export const WORKSPACE_SHARE = 0.5;

/** Requests in an engine's queue. Beyond: 503. One key may use half of the queue. Beyond: 429. */
export const QUEUE_LENGTH_MAX = 256;

/** Characters of a requested model name in log lines and messages; callers may send any text. Beyond: truncated. */
export const REQUESTED_MODEL_CHARS_MAX = 64;

/** Model names listed in the error for an unknown model. Beyond: the error says how many more exist. */
export const MODELS_NAMED_MAX = 20;

/** Bytes of all images that are fetched for one request: as much as a JSON body can have in base64. Beyond: 400. */
export const REQUEST_IMAGES_BYTES_MAX = 12 * 1024 * 1024;

/** Bytes of disk space that downloads, explicit caches and the states of interrupted answers leave free. */
export const DISK_RESERVE_BYTES = 128 * 1024 * 1024;

/** Largest token id in a request; above any vocabulary. Beyond: 400. */
export const TOKEN_ID_MAX = 2_147_483_647;

/**
 * Characters of a prompt for each token of the context. Beyond: 400, before the prompt is rendered and tokenized. Text
 * has 1 to 6 characters per token; only runs of the same character, such as blanks, have more than this.
 */
export const PROMPT_CHARS_PER_TOKEN_MAX = 16;

/** Parts with `cache_control` in one request (docs/wire/openai-compatible.md#context-cache). Beyond: 400. */
export const CACHE_MARKS_MAX = 4;

/**
 * Default seconds in Retry-After. Small, because clients give up on large values
 * (docs/wire/clients.md#client-pitfalls).
 */
export const RETRY_AFTER_SECONDS = 2;

/** Maximum seconds in Retry-After, whatever an upstream sends. Some clients give up at values above about 120. */
export const RETRY_AFTER_SECONDS_MAX = 60;

/**
 * Items in one call that creates a conversation or adds to it (docs/wire/openai-compatible.md#conversations). Beyond:
 * 400.
 */
export const CONVERSATION_ITEMS_MAX = 20;

/** Items of one page of a list, and the default (docs/wire/openai-compatible.md#conversations). Beyond: 400. */
export const ITEM_PAGE_MAX = 100;
export const ITEM_PAGE_DEFAULT = 20;

/** Problems kept for a failed batch. Beyond: the others are dropped. */
export const BATCH_PROBLEMS_MAX = 100;

/**
 * Bytes of a file whose text is extracted (docs/wire/openai-compatible.md#files). Beyond, as for the limits up to
 * DOCUMENT_UNPACKED_BYTES_MAX: its status is `error`, with the reason.
 */
export const DOCUMENT_BYTES_MAX = 150 * 1024 * 1024;

/**
 * Documents that one process extracts concurrently, all but one of them for one workspace, and documents that wait, half
 * of them of one workspace. Beyond: 503.
 */
export const DOCUMENT_READ_CONCURRENCY = 3;
export const DOCUMENT_READ_QUEUE_MAX = 32;

/** Documents referenced by one request; as many as a workspace may have files. Beyond: 400. */
export const REQUEST_DOCUMENTS_MAX = 100;

/**
 * Batch lines that one process runs concurrently, all batches together. Configurable. Beyond: lines wait, batches take
 * turns.
 */
export const BATCH_LINE_CONCURRENCY = 8;

/** Ms that a finished job is kept. Beyond: it is removed. */
export const JOB_RETENTION_MS = 7 * 24 * 3_600_000;

/** Ms between polls for changes of a deployment by other processes. */
export const DEPLOYMENT_POLL_MS = 1_000;

/** Ms of a search in total, and of one provider. Beyond: the provider failed, and the search continues without it. */
export const SEARCH_MS_MAX = 20_000;
export const SEARCH_PROVIDER_MS_MAX = 8_000;

/** Bytes of a web page. Configurable. Beyond: reading it fails. */
export const PAGE_BYTES_MAX = 5 * 1024 * 1024;

/** Characters of the text extracted from a page. Configurable. Beyond: truncated. */
export const PAGE_TEXT_CHARS_MAX = 40_000;

/** Ms that an idle container keeps its variables and files. Beyond: it is closed. */
export const CODE_CONTAINER_IDLE_MS = 20 * 60_000;

/** Input files of a container, and their total bytes; they are in its memory. Beyond: 400. */
export const CODE_INPUTS_MAX = 32;
export const CODE_INPUTS_BYTES_MAX = 64 * 1024 * 1024;
