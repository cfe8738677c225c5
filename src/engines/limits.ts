/**
 * Limits of this folder. Each name contains the unit; each comment says what happens beyond the limit and where the
 * value comes from. `src/core/limits.ts` has those of several modules; docs/limits.md lists all.
 */

/** Engine events that wait for a slow reader. Beyond: the engine is not read until the reader catches up. */
export const ENGINE_EVENTS_WAITING_MAX = 256;

/**
 * Characters of an answer that are read from a server before its reader takes them: texts, and 100 for each event and each
 * alternative token. Beyond: the server is not read, and an answer that can continue later gives its slot to one that waits.
 * Chosen: an answer of some 1,200 tokens, so that 1,000 unread answers take a quarter of a GB.
 */
export const UNREAD_ANSWER_CHARS_MAX = 128 * 1024;

/**
 * Length of the queue for background requests, as a share of the queue for live requests. Both are separate, so that
 * background requests never displace live ones. Beyond: 503 or 429, as above.
 */
export const BACKGROUND_QUEUE_SHARE = 0.5;

/**
 * How much longer a background request may wait in a queue than a live one, because no client waits. Beyond: 503, after
 * which a batch pauses. A higher factor would use up too much of the total time that a line may take.
 */
export const BACKGROUND_WAIT_FACTOR = 2;

/**
 * How much longer a reserved request may wait in a queue than a live one: as long as a request may run. Reserved
 * requests precede all live requests and are not rejected because of them. Beyond: 503.
 */
export const RESERVED_WAIT_FACTOR = 60;

/**
 * Ms that a workspace above its share of the sequences keeps one while another workspace waits. Beyond: the run is
 * interrupted and continues when a sequence is free. Long enough that saving and loading a state of a few thousand tokens
 * is a small part of it.
 */
export const YIELD_MS = 250;

/**
 * Ms that any other run keeps a sequence while a workspace or a key with fewer sequences waits. Beyond: the same. Thirty
 * waiting workspaces then take turns on one sequence within the longest wait of the queue.
 */
export const ROTATION_MS = 2_000;

/**
 * LoRA adapters that vLLM applies within one batch; it reserves memory for each (`--max-loras`). Beyond: requests for further
 * adapters wait for running ones. Chosen by Parley; vLLM's own default is 1.
 */
export const VLLM_BATCH_ADAPTERS_MAX = 8;

/** Ms after a request of a workspace during which other workspaces leave a sequence free for its next one. */
export const SHARE_RESERVE_MS = 2_000;

/**
 * Tokens of one text of an embedding request (docs/wire/dashscope-native.md#embeddings). Beyond, or beyond the context:
 * 400.
 */
export const EMBEDDING_TOKENS_MAX = 8_192;

/** Ms to connect to an upstream, TLS included. Beyond: the request fails. */
export const UPSTREAM_CONNECT_MS = 5_000;

/**
 * Ms from the connection to the upstream's first event, including its queue and long prompts. Beyond: RequestTimeOut.
 */
export const UPSTREAM_FIRST_TOKEN_MS = 180_000;

/** Concurrent calls that tokenize one prompt, for servers that accept one text per call. */
export const TOKENIZE_CALL_CONCURRENCY = 8;

/**
 * Concurrent calls that tokenize a prompt on llama.cpp's server. A connection occupies one of its threads, also for 5 s
 * after a call, and the server has only 4 threads more than slots. Further calls, including health checks, would wait
 * that long.
 */
export const LLAMA_TOKENIZE_CALL_CONCURRENCY = 2;

/**
 * Prompt pieces in the token cache of an engine, and their total characters. Beyond: least recently used entries go.
 */
export const PROMPT_PIECE_CACHE_ENTRIES_MAX = 1_024;
export const PROMPT_PIECE_CACHE_CHARS_MAX = 1024 * 1024;

/** Token ids per request for the texts of a vocabulary. The response has about 30 characters per id. */
export const VOCABULARY_SLICE_TOKENS = 16_384;

/** Ms without data from an upstream during an answer. Beyond: the answer is aborted. */
export const UPSTREAM_IDLE_MS = 60_000;

/** Ms for an upstream call without generation: model metadata, health, tokens. Beyond: the call fails. */
export const UPSTREAM_QUERY_MS = 5_000;

/**
 * Ms that the declared settings of a server are used after it failed to report its own. Then it is queried again,
 * asynchronously.
 */
export const UPSTREAM_QUERY_RETRY_MS = 30_000;

/**
 * Context length in tokens, used when neither the catalogue nor the upstream declares one. Longer prompts are rejected
 * by the upstream itself.
 */
export const UPSTREAM_CONTEXT_TOKENS = 1_000_000;

/** Characters of one event in an upstream's stream. Beyond: the answer is aborted. */
export const UPSTREAM_EVENT_CHARS_MAX = 4 * 1024 * 1024;

/** Tool calls in one answer of an upstream. Beyond: the answer is aborted. */
export const UPSTREAM_CALLS_MAX = 128;

/** Largest token count that is accepted from an upstream. Beyond: the count is ignored. */
export const UPSTREAM_TOKENS_MAX = 2 ** 31 - 1;

/** Characters of an upstream's response without streaming. Beyond: the request fails. */
export const UPSTREAM_BODY_CHARS_MAX = 16 * 1024 * 1024;

/** Code points of an upstream's error message that are passed on. Beyond: truncated. */
export const UPSTREAM_MESSAGE_CODE_POINTS_MAX = 500;

/**
 * Connections to an upstream that are kept for later calls. Beyond: a connection is closed after its call. Far below the usual
 * limit of 1,024 file descriptors, so that streams of the past do not keep uploads from opening files.
 */
export const UPSTREAM_IDLE_SOCKETS_MAX = 64;

/** Ms for an upstream to end its response after the end marker. Beyond: the connection is closed and not reused. */
export const UPSTREAM_CLOSE_MS = 1_000;

/** Characters at the end of a phase's output that triggers are matched against. Longer markup is not detected. */
export const TRIGGER_WINDOW_CHARS = 512;

/** Consecutive phases without a token. Beyond: the answer ends, because the phases would repeat forever. */
export const EMPTY_PHASES_MAX = 8;

/** Ms to compile the grammars of one request. Beyond: 400. */
export const GRAMMAR_COMPILE_MS_MAX = 2_000;

/** Megabytes of JavaScript heap for compiling grammars. Beyond: 400. */
export const GRAMMAR_COMPILE_HEAP_MB = 192;

/** Compiled grammars in an engine's cache. Beyond: the least recently used one is evicted. */
export const GRAMMAR_CACHE_ENTRIES_MAX = 1_024;

/** Their total characters; parsed grammars take up to eight times as many bytes. Beyond: the same. */
export const GRAMMAR_CACHE_CHARS_MAX = 8 * 1024 * 1024;

/** Bytes of a call to the speech engine: 30 s of samples, and 500 hotwords with their context. Beyond: 400. */
export const SPEECH_CALL_BYTES_MAX = 4 * 1024 * 1024;

/** Tokens of a text that all-MiniLM-L6-v2 was trained for, special tokens included. Beyond: 400. */
export const MINILM_TOKENS_MAX = 512;

/**
 * Ms between two starts of an engine process after three starts failed to load the same model file. A changed file is
 * loaded at once. Until then: 503.
 */
export const MODEL_FILE_RETRY_MS = 120_000;

/**
 * Tokens that a sequence should hold where the configuration states no context length: a coding agent's first prompt has up
 * to 13,200, and its history grows. If memory lacks for them, fewer sequences run at once.
 */
export const CONTEXT_TOKENS_WANTED = 32_768;

/** Tokens of the shortest context that is tried. If memory lacks even for it, the engine does not start. */
export const CONTEXT_TOKENS_MIN = 2_048;

/**
 * Share of the free memory that contexts may take where the configuration states no context length; the rest is for other
 * engines. Beyond: shorter contexts or fewer sequences.
 */
export const CONTEXT_MEMORY_SHARE = 0.5;
