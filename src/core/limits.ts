/**
 * Limits of the service. Each name contains the unit; each comment says what happens beyond the limit and where the
 * value comes from. A comment that names no source describes a choice of Parley. A number such as 400 is the HTTP
 * status of the rejection.
 */

/** Largest seed: 2^31 − 1 (docs/wire/openai-compatible.md#chat-request). Beyond: 400. */
export const SEED_MAX = 2_147_483_647;

/** Largest `n`, the number of choices (docs/wire/openai-compatible.md#chat-request). Beyond: 400. */
export const CHOICES_MAX = 4;

/** Largest `top_logprobs` (docs/wire/openai-compatible.md#chat-logprobs). Beyond: 400. */
export const TOP_LOGPROBS_MAX = 5;

/** Stop sequences in one request. Beyond: 400. */
export const STOP_SEQUENCES_MAX = 16;

/** Unicode code points of one stop string. Beyond: 400. */
export const STOP_CODE_POINTS_MAX = 256;

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

/** Messages in one request; far above any context length. Beyond: 400. */
export const MESSAGES_MAX = 10_000;

/** Prompts of one text completion; they are processed one after another. Beyond: 400. */
export const PROMPTS_MAX = 16;

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

/** Parts in the content of one message. Beyond: 400. */
export const PARTS_MAX = 1_000;

/**
 * Values in a JSON request body, counted by its commas and brackets. Beyond: 400. A body of tiny values takes fifty
 * times its size in memory, and seconds to validate.
 */
export const JSON_VALUES_MAX = 200_000;

/** Bytes of a JSON request body; enough for an escaped context of a million tokens. Beyond: 413. */
export const JSON_BODY_BYTES_MAX = 16 * 1024 * 1024;

/**
 * Nesting depth of a JSON request body. Beyond: 400. Protects recursive code (schemas, templates) from stack overflow.
 */
export const JSON_DEPTH_MAX = 64;

/** Log probabilities below this value are sent as null (docs/wire/choices.md#generation). */
export const LOGPROB_MIN = -100;

/** Field names in the header x-parley-ignored. Beyond: the other names are omitted. */
export const IGNORED_NAMES_MAX = 20;

/** Bytes of the header x-parley-ignored. Beyond: the other names are omitted. */
export const IGNORED_BYTES_MAX = 1024;

/** Ms without an event after which a stream sends a keep-alive. Below the default read timeout of nginx, 60 s. */
export const KEEP_ALIVE_MS = 10_000;

/** Ms until a request without streaming fails with RequestTimeOut. Configurable. */
export const DEADLINE_UNSTREAMED_MS = 300_000;

/** Ms until a streamed request fails with RequestTimeOut. Configurable. */
export const DEADLINE_STREAM_MS = 3_600_000;

/** Ms after which a revoked key is rejected by every process, at the latest. */
export const KEY_CACHE_MS = 5_000;

/** Keys in the key cache. Beyond: the oldest entry is evicted and read again when needed. */
export const KEY_CACHE_ENTRIES_MAX = 10_000;

/** Engine events that wait for a slow reader. Beyond: the engine is not read until the reader catches up. */
export const ENGINE_EVENTS_WAITING_MAX = 256;

/** Ms that a request may wait in an engine's queue. Beyond: 503. */
export const QUEUE_WAIT_MS_MAX = 60_000;

/** Requests in an engine's queue. Beyond: 503. One key may use half of the queue. Beyond: 429. */
export const QUEUE_LENGTH_MAX = 256;

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
 * Ms after a live request during which the embedded engine keeps a sequence free for the next one. Afterwards
 * background generations may use all sequences, and the first live request preempts one of them.
 */
export const LIVE_SEQUENCE_RESERVE_MS = 2_000;

/** Every n-th prefill slice of the embedded engine processes a background prompt, even while live prompts wait. */
export const BACKGROUND_SLICE_INTERVAL = 8;

/** Every n-th prefill slice of the embedded engine processes a live prompt, even while reserved prompts wait. */
export const LIVE_SLICE_INTERVAL = 4;

/** Characters of a workspace name. Beyond: the creation of a key fails. */
export const WORKSPACE_CHARS_MAX = 64;

/** Characters of a requested model name in log lines and messages; callers may send any text. Beyond: truncated. */
export const REQUESTED_MODEL_CHARS_MAX = 64;

/** Unicode code points of a key's name. Beyond: the creation of the key fails. */
export const KEY_NAME_CODE_POINTS_MAX = 64;

/** Characters of an API key in a request. Beyond: the key is unknown, without a lookup. */
export const KEY_SECRET_CHARS_MAX = 256;

/** Keys in one page of a list. */
export const KEY_PAGE_MAX = 500;

/** Ms that a query waits for another process's lock on the database. Beyond: the query fails. */
export const STORE_BUSY_MS_MAX = 5_000;

/** Prepared statements cached per connection. Beyond: the least recently used one is prepared again when needed. */
export const STORE_STATEMENTS_MAX = 200;

/** Model names listed in the error for an unknown model. Beyond: the error says how many more exist. */
export const MODELS_NAMED_MAX = 20;

/** Ms for the model hub to respond. Beyond: the next source is tried. */
export const HUB_CONNECT_MS = 5_000;

/** Ms without data during a download. Beyond: the connection is closed and the download resumed. */
export const HUB_STALL_MS = 30_000;

/** Consecutive download attempts without any data. Beyond: the download fails. */
export const HUB_EMPTY_ATTEMPTS_MAX = 3;

/** Ms between two such attempts. */
export const HUB_RETRY_MS = 2_000;

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

/** Bytes of disk space that downloads and explicit caches leave free. */
export const DISK_RESERVE_BYTES = 128 * 1024 * 1024;

/** Ms without a heartbeat after which another process takes over a download lock. */
export const PULL_LOCK_STALE_MS = 60_000;

/** Ms between checks of a process that waits for another process's download. */
export const PULL_LOCK_POLL_MS = 1_000;

/** Restarts of one download because the file on the hub changed. Beyond: the download fails. */
export const HUB_RESTARTS_MAX = 3;

/** Largest absolute logit bias (OpenAI's range, which its clients also check). Beyond: 400. */
export const LOGIT_BIAS_MAX = 100;

/** Entries of one `logit_bias`. Beyond: 400. */
export const LOGIT_BIAS_ENTRIES_MAX = 1_024;

/** Largest token id in a request; above any vocabulary. Beyond: 400. */
export const TOKEN_ID_MAX = 2_147_483_647;

/** Tools in one request. Beyond: 400. */
export const TOOLS_MAX = 512;

/** Characters of a tool's name: the length of 64 tokens of code-like text. Beyond: 400. */
export const TOOL_NAME_CHARS_MAX = 512;

/**
 * Characters of the name of a response format's schema (docs/wire/openai-compatible.md#chat-json-output). Beyond: 400.
 */
export const SCHEMA_NAME_CHARS_MAX = 64;

/** Parts with `cache_control` in one request (docs/wire/openai-compatible.md#context-cache). Beyond: 400. */
export const CACHE_MARKS_MAX = 4;

/** Entries of one page of a native list (docs/wire/dashscope-native.md#deployments). Beyond: 400. */
export const PAGE_SIZE_MAX = 200;

/** Page number of a native list. Beyond: 400. */
export const PAGE_NUMBER_MAX = 1_000_000;

/** Tokens of a query and one document together, in reranking. They are evaluated in one batch. Beyond: 400. */
export const RERANK_TOKENS_MAX = 2_048;

/** Documents of one reranking request. Beyond: 400. */
export const RERANK_DOCUMENTS_MAX = 500;

/** Texts of one embedding request (docs/wire/dashscope-native.md#embeddings). Beyond: 400. */
export const EMBEDDING_TEXTS_MAX = 10;

/** Texts of one request for `text-embedding-v1` or `-v2` (docs/wire/dashscope-native.md#embeddings). Beyond: 400. */
export const EMBEDDING_TEXTS_EARLY_MAX = 25;

/**
 * Tokens of one text of an embedding request (docs/wire/dashscope-native.md#embeddings). Beyond, or beyond the context:
 * 400.
 */
export const EMBEDDING_TOKENS_MAX = 8_192;

/** The same for models that must read a text in one batch: memory grows with the square of the length. Beyond: 400. */
export const EMBEDDING_TOKENS_UNSPLIT_MAX = 2_048;

/** Bytes of a request's headers. Beyond: 431. */
export const HEADER_BYTES_MAX = 32 * 1024;

/** Ms to receive the headers of a request. Beyond: 408. */
export const HEADERS_RECEIVE_MS_MAX = 20_000;

/** Ms to receive a whole request. Beyond: 408. Slow clients must not occupy connections. */
export const REQUEST_RECEIVE_MS_MAX = 120_000;

/** Ms that an idle connection stays open. Above the 60 s of common proxies, so that the proxy closes first. */
export const CONNECTION_IDLE_MS_MAX = 75_000;

/** Ms without progress while a client does not read its response. Beyond: the connection is closed. */
export const READER_STALL_MS_MAX = 60_000;

/** Characters of one path parameter. Beyond: 404. */
export const PATH_PARAMETER_CHARS_MAX = 512;

/**
 * Default seconds in Retry-After. Small, because clients give up on large values
 * (docs/wire/clients.md#client-pitfalls).
 */
export const RETRY_AFTER_SECONDS = 2;

/** Maximum seconds in Retry-After, whatever an upstream sends. Some clients give up at values above about 120. */
export const RETRY_AFTER_SECONDS_MAX = 60;

/** Ms between the abort of the last requests at shutdown and the closing of their connections. */
export const ABORT_GRACE_MS = 1_000;

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

/** Ms for an upstream to end its response after the end marker. Beyond: the connection is closed and not reused. */
export const UPSTREAM_CLOSE_MS = 1_000;

/** Background requests per address of a pool while the address processes live requests. Beyond: they wait. */
export const POOL_BACKGROUND_BESIDE_LIVE_MAX = 2;

/**
 * Addresses of a pool that one request may try before its first event. Beyond: it fails with the last error. More
 * attempts would multiply the load on a failing pool.
 */
export const POOL_ATTEMPTS_MAX = 3;

/** Characters at the start of a conversation that select its address. Conversations that differ only later share it. */
export const POOL_AFFINITY_CHARS_MAX = 8_192;

/**
 * Requests that the address with a cached prefix may have more than the least busy one: this number, or this share of
 * the least busy one's requests if that is larger. Beyond: the request goes to the least busy address. A few more
 * requests in a batch cost less than computing a long prompt again.
 */
export const POOL_AFFINITY_LEAD_MAX = 4;
export const POOL_AFFINITY_LEAD_SHARE_MAX = 0.25;

/** Consecutive failures after which an address is paused. One or two may be caused by the requests. */
export const POOL_FAILURES_IN_ROW_MAX = 3;

/** Recent outcomes that are counted per address, and the failures among them after which the address is paused. */
export const POOL_OUTCOME_WINDOW = 20;
export const POOL_WINDOW_FAILURES_MAX = 10;

/**
 * First and longest pause of such an address, in ms; doubled with each failed trial. The first is about the duration of
 * a restart behind a load balancer; the longest is the delay until a repaired server is noticed.
 */
export const POOL_BACKOFF_MS_MIN = 1_000;
export const POOL_BACKOFF_MS_MAX = 60_000;

/**
 * Longest pause of the only address of a model, in ms. Most requests are rejected meanwhile, although no other address
 * could process them.
 */
export const POOL_SINGLE_BACKOFF_MS_MAX = 4_000;

/**
 * Ms between requests that a paused address still gets when no address is available. Other requests are rejected.
 * Rejecting all of them would help nobody; sending more could prevent a server from recovering.
 */
export const POOL_LAST_RESORT_INTERVAL_MS = 250;

/**
 * Weight of a well-formed error response, where a connection failure counts as 1. Six different callers must receive
 * one before an address is paused.
 */
export const POOL_ERROR_RESPONSE_WEIGHT = 0.5;

/**
 * Consecutive failures of one caller at one address after which the caller's requests avoid the address, and for how
 * many ms. Also the number of callers that are tracked for this. Beyond: the oldest entry is evicted.
 */
export const POOL_CALLER_FAILURES_MAX = 3;
export const POOL_CALLER_AVOID_MS = 5_000;
export const POOL_CALLERS_TRACKED_MAX = 1_000;

/** Ms that a busy address is paused when it sent no Retry-After. */
export const POOL_BUSY_PAUSE_MS = 1_000;

/** Approximate ms between checks of which addresses need a probe. */
export const POOL_HEALTH_POLL_MS = 1_000;

/** Ms between probes of an address whose last request failed. */
export const POOL_PROBE_SUSPECT_MS = 5_000;

/** Ms without a request after which an address is probed, and between such probes. */
export const POOL_PROBE_IDLE_MS = 60_000;

/** Ms for one probe. Beyond: the probe failed. */
export const POOL_PROBE_MS_MAX = 5_000;

/** Concurrent probes of one pool. Beyond: they wait for the next check. */
export const POOL_PROBE_CONCURRENCY = 4;

/** Ms that the model metadata of the first address waits for those of the others. */
export const POOL_MODEL_WAIT_MS = 1_000;

/** Ms until an address that did not report its model is queried again. */
export const POOL_MODEL_RETRY_MS = 60_000;

/** Ms until the addresses are queried again when none has reported its model. */
export const POOL_MODEL_UNKNOWN_RETRY_MS = 5_000;

/** Ms that a started answer may wait for its first reader. Beyond: it is aborted. */
export const POOL_UNREAD_MS_MAX = 60_000;

/** Ms for an aborted stream to report its token usage. Beyond: the log line omits the usage. */
export const ABORTED_USAGE_WAIT_MS_MAX = 500;

/** Characters at the end of a phase's output that triggers are matched against. Longer markup is not detected. */
export const TRIGGER_WINDOW_CHARS = 512;

/** Tokens of a function's name, counted by the model (docs/wire/openai-compatible.md#chat-request). Beyond: 400. */
export const TOOL_NAME_TOKENS_MAX = 64;

/**
 * Tokens of the shortest prefix that an explicit cache stores (docs/wire/openai-compatible.md#context-cache). Shorter:
 * not stored.
 */
export const EXPLICIT_CACHE_TOKENS_MIN = 1_024;

/**
 * Ms that an explicit cache keeps an unused entry; a hit restarts the time
 * (docs/wire/openai-compatible.md#context-cache).
 */
export const EXPLICIT_CACHE_MS = 300_000;

/**
 * Bytes of one workspace's explicit cache in one engine; about 87,000 tokens of a 0.5B model. Beyond: the least
 * recently used entries are evicted; an entry above the limit is not stored.
 */
export const EXPLICIT_CACHE_WORKSPACE_BYTES_MAX = 1024 * 1024 * 1024;

/** The same for all workspaces of one engine. Beyond: the least recently used entries of any workspace are evicted. */
export const EXPLICIT_CACHE_BYTES_MAX = 4 * 1024 * 1024 * 1024;

/**
 * Entries of one workspace's explicit cache. Every marked prompt is compared with all of them. Beyond: evicted as
 * above.
 */
export const EXPLICIT_CACHE_ENTRIES_MAX = 64;

/** Phases of one generation; each of TOOLS_MAX tools takes one or two. Beyond: the engine rejects the request. */
export const PHASES_MAX = 2_000;

/** Triggers of one generation, all phases together. Beyond: the engine rejects the request. */
export const TRIGGERS_MAX = 10_000;

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

/**
 * Ms of CPU time to sample one token under a grammar. Beyond: the request fails, so that other requests do not wait for
 * it.
 */
export const GRAMMAR_SAMPLE_MS_MAX = 1_000;

/**
 * Usual maximum ms of CPU time per token under a simple grammar. Only the time above it counts towards the next limit.
 */
export const GRAMMAR_SAMPLE_MS_PLAIN = 250;

/** Ms of CPU time above the usual cost for the grammars of one answer in total. Beyond: the request fails. */
export const GRAMMAR_SLOW_MS_MAX = 5_000;

/**
 * Ms that the sampling of a token may continue after its request was aborted; the library cannot be interrupted there.
 * Beyond: the engine process exits as soon as it is idle, and is restarted.
 */
export const GRAMMAR_STUCK_MS_MAX = 20_000;

/** The same for an engine process that is never idle. */
export const GRAMMAR_STUCK_BUSY_MS_MAX = 120_000;

/**
 * Tokens in that state; each occupies a CPU core and one of four threads. Beyond: the engine process exits immediately.
 */
export const GRAMMAR_STUCK_MAX = 2;

/** Subschemas in one JSON Schema document, including the root. Beyond: 400. */
export const SCHEMA_NODES_MAX = 10_000;

/** Nesting depth of schemas while a grammar is created, references included. Beyond: 400. */
export const SCHEMA_DEPTH_MAX = 200;

/** Properties of one object, merged ones included. Beyond: 400. */
export const SCHEMA_PROPERTIES_MAX = 1_000;

/** Alternatives of one schema after anyOf, oneOf and allOf were multiplied out. Beyond: 400. */
export const SCHEMA_ALTERNATIVES_MAX = 256;

/** Steps of multiplying out in one document. Beyond: 400. */
export const SCHEMA_EXPANSION_STEPS_MAX = 200_000;

/**
 * Largest number of items or properties that a grammar counts. A larger minimum: 400. A larger maximum is checked
 * afterwards.
 */
export const GRAMMAR_COUNT_MAX = 256;

/** Largest product of properties and count for which a grammar enforces minProperties and maxProperties. */
export const GRAMMAR_POSITIONS_MAX = 2_000;

/**
 * Largest string length in code points that a grammar enforces. A larger minimum: 400. A larger maximum is checked
 * afterwards.
 */
export const GRAMMAR_LENGTH_MAX = 1_000;

/** patternProperties of one object; each doubles the number of overlaps. Beyond: 400. */
export const GRAMMAR_PATTERN_PROPERTIES_MAX = 4;

/** Members compared when arrays or objects are alternatives to each other. Beyond: 400. */
export const GRAMMAR_COMBINATIONS_MAX = 20_000;

/** Distinct patterns, formats, lengths and number ranges of one schema. Beyond: 400. */
export const GRAMMAR_LANGUAGES_MAX = 1_000;

/** Rules of one grammar. Beyond: 400. */
export const GRAMMAR_RULES_MAX = 20_000;

/** Characters of one grammar. Beyond: 400. */
export const GRAMMAR_CHARS_MAX = 1024 * 1024;

/** Parses that an engine must follow in parallel; each costs memory per token. Beyond: 400. */
export const GRAMMAR_PARSES_MAX = 512;

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

/** Steps to check one value against a schema. Beyond: the value counts as invalid, with this reason. */
export const SCHEMA_CHECK_STEPS_MAX = 1_000_000;

/** States of one automaton (of a pattern, format or number range); each becomes a grammar rule. Beyond: 400. */
export const AUTOMATON_STATES_MAX = 2_000;

/** Character ranges in the transitions of one automaton. Beyond: 400. `\p{L}` alone takes 700. */
export const AUTOMATON_TRANSITIONS_MAX = 200_000;

/** States explored while an automaton is built, and their product with the number of character classes. Beyond: 400. */
export const AUTOMATON_STATES_EXPLORED_MAX = 20_000;
export const AUTOMATON_CELLS_MAX = 1_000_000;

/** Steps, each below a microsecond, to build one automaton. Beyond: 400. */
export const AUTOMATON_STEPS_MAX = 500_000;

/** Steps to build all automata of one grammar, or of one schema check. Beyond: 400. */
export const AUTOMATA_WORK_MAX = 3_000_000;

/** Steps that each distinct `\p{…}` of a schema counts as. */
export const CHARACTER_PROPERTY_STEPS = 50_000;

/**
 * Automata cached for later schemas, and the total character ranges in their transitions. Beyond: the oldest are
 * evicted.
 */
export const AUTOMATON_CACHE_ENTRIES_MAX = 512;
export const AUTOMATON_CACHE_RANGES_MAX = 500_000;

/** The same for the character sets of `\p{…}`. */
export const CHARACTER_SET_CACHE_ENTRIES_MAX = 64;
export const CHARACTER_SET_CACHE_RANGES_MAX = 50_000;

/** Characters of a regular expression. Beyond: 400. */
export const PATTERN_CHARS_MAX = 10_000;

/** Nested groups in a regular expression. Beyond: 400. Protects recursive code from stack overflow. */
export const PATTERN_DEPTH_MAX = 100;

/** Lookaheads in a regular expression; each costs as much as a separate expression. Beyond: 400. */
export const PATTERN_LOOKAHEADS_MAX = 8;

/** Distinct `\p{…}` in a regular expression; each takes up to 15 ms. Beyond: 400. */
export const PATTERN_PROPERTIES_MAX = 8;

/** Nodes of a regular expression after its repetitions were expanded. Beyond: 400. */
export const PATTERN_NODES_MAX = 20_000;

/** Digits before the decimal point of an unbounded number; as many as a double can distinguish. */
export const NUMBER_DIGITS_MAX = 16;

/**
 * Largest power of ten of a bound that a grammar enforces. Beyond: the bound is ignored; 400 if no number would remain.
 */
export const NUMBER_DIGITS_BOUNDED_MAX = 40;

/**
 * Digits of a number with `multipleOf`; doubles represent all such numbers exactly. Longer numbers are not generated.
 */
export const NUMBER_DIGITS_EXACT_MAX = 15;

/** Decimal places of a number. Numbers with more are not generated. */
export const NUMBER_DECIMALS_MAX = 15;

/** Multiples that a grammar lists one by one. Beyond: it tracks remainders instead. */
export const NUMBER_MULTIPLES_LISTED_MAX = 500;

/**
 * Tokens of a text to translate, with its terms, memory and domain (docs/wire/dashscope-native.md#translation-rules).
 * Beyond: 400.
 */
export const TRANSLATION_INPUT_TOKENS_MAX = 8_192;

/** Approximate tokens of a segment that is translated in one generation. A longer line is split between sentences. */
export const TRANSLATION_SEGMENT_TOKENS_MAX = 128;

/** Terms and translation memory pairs of one request. Beyond: 400. */
export const TRANSLATION_PAIRS_MAX = 2_000;

/** Names in `include` of one response; clients use about a dozen. Beyond: 400. */
export const INCLUDES_MAX = 64;

/**
 * Share of the context that is reserved for the answer when older turns are dropped: the default, and the maximum by
 * the caller's token limit.
 */
export const ANSWER_SHARE_DEFAULT = 1 / 8;
export const ANSWER_SHARE_MAX = 1 / 2;

/**
 * Items in one call that creates a conversation or adds to it (docs/wire/openai-compatible.md#conversations). Beyond:
 * 400.
 */
export const CONVERSATION_ITEMS_MAX = 20;

/**
 * Metadata pairs, and code points of a key and of a value (docs/wire/openai-compatible.md#conversations). Beyond: 400.
 */
export const METADATA_PAIRS_MAX = 16;
export const METADATA_KEY_CODE_POINTS_MAX = 64;
export const METADATA_VALUE_CODE_POINTS_MAX = 512;

/** Items of one page of a list, and the default (docs/wire/openai-compatible.md#conversations). Beyond: 400. */
export const ITEM_PAGE_MAX = 100;
export const ITEM_PAGE_DEFAULT = 20;

/** Bytes of JSON in such a page. Beyond: the page is shorter, with at least one item, and says that more exist. */
export const ITEM_PAGE_BYTES_MAX = 16 * 1024 * 1024;

/** Items of a history that are read for an answer; far above any context length. Beyond: the oldest are not read. */
export const HISTORY_ITEMS_MAX = 10_000;

/** Bytes of JSON of these items; enough for an escaped context of a million tokens. Beyond: the oldest are not read. */
export const HISTORY_BYTES_MAX = 16 * 1024 * 1024;

/**
 * Bytes of the items that one request references by id, counted once per reference. Beyond: 413, as for items in the
 * request body.
 */
export const REFERENCED_ITEM_BYTES_MAX = 16 * 1024 * 1024;

/** Responses followed back along `previous_response_id`. Beyond: the oldest are not read. */
export const HISTORY_LINKS_MAX = 10_000;

/** Ms without a heartbeat after which a conversation is released by the response that is being generated in it. */
export const CONVERSATION_LEASE_MS = 10_000;

/** Ms between such heartbeats. */
export const CONVERSATION_LEASE_RENEW_MS = 2_500;

/**
 * Retry-After in seconds while a conversation is in use. A client that retries twice outlives the lease of a crashed
 * process.
 */
export const CONVERSATION_RETRY_SECONDS = CONVERSATION_LEASE_MS / 2_000;

/** Unfinished background responses of one key. Beyond: 429. */
export const BACKGROUND_UNFINISHED_MAX = 64;

/** Background responses that one process generates concurrently. Beyond: they wait. */
export const BACKGROUND_RESPONSE_CONCURRENCY = 32;

/** Ms that the events of a background response are kept after its end. Beyond: streaming them again fails with 400. */
export const BACKGROUND_EVENTS_RETENTION_MS = 3_600_000;

/** Ms between removals of expired events, and responses cleared per query. */
export const BACKGROUND_EVENTS_CLEANUP_INTERVAL_MS = 300_000;
export const BACKGROUND_EVENTS_PAGE_MAX = 50;

/** Characters of all events of a background response. Beyond: it fails. */
export const BACKGROUND_EVENT_CHARS_MAX = 64 * 1024 * 1024;

/** Ms between writes of its events, and characters of events that wait for a write. Beyond: the engine is not read. */
export const BACKGROUND_WRITE_MS = 100;
export const BACKGROUND_WRITE_CHARS_MAX = 256 * 1024;

/** Ms between polls for events written by another process, and rows read per query. */
export const BACKGROUND_POLL_MS = 150;
export const BACKGROUND_CHUNKS_MAX = 16;

/**
 * Ms since its creation during which a background response retries when its conversation is in use or a queue is full.
 * Beyond: it fails with that error.
 */
export const BACKGROUND_WAIT_MS = 600_000;

/** Ms between these retries. */
export const BACKGROUND_RETRY_MS = 1_000;

/**
 * Vocabularies of a workspace in a region, and entries of one (docs/wire/dashscope-native.md#vocabularies).
 * Configurable. Beyond: 400.
 */
export const VOCABULARIES_MAX = 10;
export const VOCABULARY_ENTRIES_MAX = 500;

/** Characters of a vocabulary's prefix (docs/wire/dashscope-native.md#vocabularies). Beyond: 400. */
export const VOCABULARY_PREFIX_CHARS_MAX = 10;

/** Characters of a vocabulary's target model name. Beyond: 400. */
export const TARGET_MODEL_CHARS_MAX = 128;

/**
 * Code points of an entry with non-ASCII characters, and words of an ASCII entry
 * (docs/wire/dashscope-native.md#vocabularies). Beyond: 400.
 */
export const HOTWORD_CODE_POINTS_MAX = 15;
export const HOTWORD_WORDS_MAX = 7;

/** Characters of an ASCII entry, whose words have no limit of their own. Beyond: 400. */
export const HOTWORD_ASCII_CHARS_MAX = 256;

/** Largest weight of an entry; the smallest is 1 (docs/wire/dashscope-native.md#vocabularies). Beyond: 400. */
export const HOTWORD_WEIGHT_MAX = 5;

/** Ms between removals of expired data. */
export const RETENTION_INTERVAL_MS = 3_600_000;

/** Conversations or responses per page of the operator's commands. A removal deletes each page in one transaction. */
export const OPERATOR_PAGE_MAX = 50;

/** Characters of log lines that wait to be written. Beyond: lines are dropped and counted. */
export const LOG_BUFFER_CHARS_MAX = 4 * 1024 * 1024;

/** Bytes of an upload per disk write. About twice as many are in memory during the upload. */
export const DISK_WRITE_BYTES = 1024 * 1024;

/** Bytes of a stored file that are read ahead. */
export const DISK_READ_BYTES = 256 * 1024;

/**
 * Bytes of an S3 part: at least 5 MiB except the last (S3). Small parts need little memory; equal sizes are required by
 * R2.
 */
export const S3_PART_BYTES = 5 * 1024 * 1024;

/** Parts of one object (S3), thus 48 GB. Beyond: the upload is rejected as too large. */
export const S3_PARTS_MAX = 10_000;

/** Parts of one upload that are sent while the next is collected. Beyond: the client waits. */
export const S3_PARTS_AHEAD = 2;

/**
 * Bytes of an upload in memory before they are written to the disk, which collects its parts. Divides the part size.
 */
export const S3_SPOOL_WRITE_BYTES = 256 * 1024;

/** Parts in memory for all uploads of a store together. Beyond: parts wait on the disk, in order. */
export const S3_PARTS_IN_MEMORY_MAX = 16;

/** Connections to the object store. A download occupies one while it runs. Beyond: calls wait. */
export const S3_SOCKETS_MAX = 512;

/**
 * Ms to connect, to receive the headers of a response, and without data on a connection. Beyond: retried, then failed.
 */
export const S3_CONNECT_MS = 5_000;
export const S3_HEAD_MS = 60_000;
export const S3_IDLE_MS = 120_000;

/** Ms for the object store to respond to a request whose caller is gone. Beyond: the request is aborted. */
export const S3_GRACE_MS = 5_000;

/** Characters of a URL to fetch. Beyond: 400. */
export const FETCH_URL_CHARS_MAX = 8_192;

/**
 * Ms for name resolution and connection, until the response headers, and for the whole fetch. Beyond: the fetch fails.
 */
export const FETCH_CONNECT_MS = 10_000;
export const FETCH_HEAD_MS = 30_000;
export const FETCH_TOTAL_MS = 600_000;

/** Redirects that are followed. Beyond: the fetch fails. */
export const FETCH_REDIRECTS_MAX = 5;

/** Bytes of a response's headers. Beyond: the fetch fails. */
export const FETCH_HEADER_BYTES_MAX = 16 * 1024;

/** Decompressed bytes per compressed byte, checked once this many bytes were decompressed. Beyond: the fetch fails. */
export const FETCH_UNPACK_RATIO_MAX = 200;
export const FETCH_UNPACK_FREE_BYTES = 1024 * 1024;

/**
 * Bytes of one file, and bytes and number of all files of a workspace in a region
 * (docs/wire/dashscope-native.md#files). Configurable. Beyond: the file is rejected.
 */
export const FILE_BYTES_MAX = 1024 ** 3;
export const FILES_BYTES_MAX = 5 * 1024 ** 3;
export const FILES_COUNT_MAX = 100;

/** Files of one page of the native list (docs/wire/dashscope-native.md#files). Beyond: 400. */
export const FILE_PAGE_MAX = 100;

/**
 * Files of one page of the OpenAI-compatible list; also the default (docs/wire/openai-compatible.md#files). Beyond:
 * 400.
 */
export const FILE_LIST_MAX = 2_000;

/** Unicode code points of a file's name. Beyond: the middle is removed and the extension kept. */
export const FILE_NAME_CODE_POINTS_MAX = 255;

/** Unicode code points of a file's description. Beyond: 400. */
export const FILE_DESCRIPTION_CODE_POINTS_MAX = 1_000;

/**
 * Bytes reserved for a file of unknown length: the first reservation, and the largest single one. In between each
 * reservation doubles the file's size, so that small files do not block capacity and large files need few reservations.
 */
export const FILE_RESERVE_BYTES_MIN = 64 * 1024;
export const FILE_RESERVE_BYTES_MAX = 16 * 1024 * 1024;

/**
 * Ms that an upload waits for storage capacity reserved by others, and that the latest of several uploads waits. The
 * latest is rejected first, so that the others can continue. Beyond: the upload is rejected.
 */
export const FILE_QUOTA_WAIT_MS = 20_000;
export const FILE_QUOTA_WAIT_LAST_MS = 2_000;

/**
 * Ms between polls for free capacity, and between attempts to reserve it when polls show none. Once the latest upload
 * has waited long enough, uploads are rejected one by one at the interval of the attempts until the rest fit.
 */
export const FILE_QUOTA_POLL_MS = 25;
export const FILE_QUOTA_RETRY_MS = 100;

/** Ms without a heartbeat after which a reservation expires and its capacity is released. */
export const FILE_LEASE_MS = 60_000;

/** Ms between such heartbeats. */
export const FILE_LEASE_RENEW_MS = 15_000;

/** Ms between removals of expired reservations and of files whose deletion was interrupted. */
export const FILE_CLEANUP_INTERVAL_MS = 30_000;

/** Ms between comparisons of all blobs with their records. */
export const FILE_RECONCILE_INTERVAL_MS = 3_600_000;

/**
 * Minimum age in ms of a blob, or a part of one, that is removed because it has no record. Longer than any upload. A
 * record or a reservation decides otherwise.
 */
export const FILE_ORPHAN_AGE_MS = 24 * 3_600_000;

/** Files per page of these removals and comparisons. */
export const FILE_CLEANUP_PAGE_MAX = 200;

/**
 * Bytes of the input of a batch, and of a dry run (docs/wire/openai-compatible.md#files). Beyond: 400 when the batch is
 * created.
 */
export const BATCH_INPUT_BYTES_MAX = 500 * 1024 ** 2;
export const BATCH_TEST_BYTES_MAX = 1024 ** 2;

/** Hours of a completion window (docs/wire/openai-compatible.md#batches). Outside: 400. */
export const BATCH_WINDOW_HOURS_MIN = 24;
export const BATCH_WINDOW_HOURS_MAX = 336;

/** Unicode code points of a batch's name and description (docs/wire/openai-compatible.md#batches). Beyond: 400. */
export const BATCH_NAME_CODE_POINTS_MAX = 100;
export const BATCH_DESCRIPTION_CODE_POINTS_MAX = 200;

/** Batches of one page of a list, and the default (docs/wire/openai-compatible.md#batches). Beyond: 400. */
export const BATCH_PAGE_MAX = 100;
export const BATCH_PAGE_DEFAULT = 20;

/** Input files that a list may name (docs/wire/openai-compatible.md#batches). Beyond: 400. */
export const BATCH_LIST_FILES_MAX = 20;

/**
 * Age in ms of batches in a list (docs/wire/openai-compatible.md#batches). Older batches are found by their ids only.
 */
export const BATCH_LIST_AGE_MS = 30 * 24 * 3_600_000;

/** Minimum bytes reserved for the results of a batch; otherwise twice the size of its input. */
export const BATCH_RESERVE_BYTES_MIN = 1024 ** 2;

/** Ms between checks whether a batch with a reservation still exists. */
export const BATCH_RESERVATION_CHECK_MS = 3_600_000;

/** Problems kept for a failed batch. Beyond: the others are dropped. */
export const BATCH_PROBLEMS_MAX = 100;

/** Results read per query while a file is written, and removed per query afterwards. */
export const BATCH_RESULTS_PAGE_MAX = 32;
export const BATCH_RESULTS_REMOVED_MAX = 500;

/** Seconds that a download URL is valid. Configurable. */
export const FILE_URL_SECONDS = 3_600;

/** Files in one upload; as many as a workspace may have. Beyond: 400. */
export const UPLOAD_FILES_MAX = 100;

/** Text fields in one upload: a description for each file, and a few more. Beyond: 400. */
export const UPLOAD_FIELDS_MAX = 150;

/** Bytes of a text field of an upload. Beyond: 400. */
export const UPLOAD_FIELD_BYTES_MAX = 16 * 1024;

/** Bytes of the headers of one part of an upload. Beyond: 400. */
export const UPLOAD_PART_HEADER_BYTES_MAX = 16 * 1024;

/** Bytes of an upload besides its files. Beyond: 413. */
export const UPLOAD_EXTRA_BYTES_MAX = 4 * 1024 * 1024;

/** Ms without data from an upload. Beyond: 408. */
export const UPLOAD_STALL_MS = 60_000;

/** Ms for a whole upload or download: a gigabyte at 400 kbit/s. Beyond: it is aborted. */
export const TRANSFER_MS_MAX = 6 * 3_600_000;

/** Priority of jobs; lower numbers run first. */
export const JOB_PRIORITY_DEFAULT = 5;

/** Consecutive attempts of a job that may fail or crash. Beyond: the job fails. */
export const JOB_ATTEMPTS_DEFAULT = 5;

/**
 * Bytes of a file whose text is extracted (docs/wire/openai-compatible.md#files). Beyond, as for the limits up to
 * DOCUMENT_UNPACKED_BYTES_MAX: its status is `error`, with the reason.
 */
export const DOCUMENT_BYTES_MAX = 150 * 1024 * 1024;

/** Bytes of the extracted text in UTF-8; enough for a context of a million tokens. */
export const DOCUMENT_TEXT_BYTES_MAX = 16 * 1024 * 1024;

/** Ms of CPU time to extract the text of a document. */
export const DOCUMENT_READ_MS_MAX = 60_000;

/** Megabytes of JavaScript heap, and bytes of resident memory, of the process that extracts it. */
export const DOCUMENT_HEAP_MB = 512;
export const DOCUMENT_RESIDENT_BYTES_MAX = 1024 ** 3;

/** Pages of a PDF. */
export const DOCUMENT_PAGES_MAX = 10_000;

/** Nested elements in an HTML page or an XML file. */
export const DOCUMENT_DEPTH_MAX = 5_000;

/** Entries in a zip-based document, decompressed bytes of one entry, and of all entries that are read. */
export const DOCUMENT_ZIP_ENTRIES_MAX = 20_000;
export const DOCUMENT_ZIP_FILE_BYTES_MAX = 192 * 1024 * 1024;
export const DOCUMENT_UNPACKED_BYTES_MAX = 256 * 1024 * 1024;

/** Documents that one process extracts concurrently, and documents that wait. Beyond: 503. */
export const DOCUMENT_READ_CONCURRENCY = 2;
export const DOCUMENT_READ_QUEUE_MAX = 32;

/** Documents referenced by one request; as many as a workspace may have files. Beyond: 400. */
export const REQUEST_DOCUMENTS_MAX = 100;

/** Bytes of their texts; more than any context length. Beyond: 400, with both numbers. */
export const REQUEST_DOCUMENT_BYTES_MAX = 16 * 1024 * 1024;

/**
 * Lines of a batch's input, and of a dry run's input (docs/wire/openai-compatible.md#batches). Beyond: the batch fails.
 */
export const BATCH_LINES_MAX = 50_000;
export const BATCH_TEST_LINES_MAX = 100;

/** Bytes of one line of the input (docs/wire/openai-compatible.md#files). Beyond: the line goes to the error file. */
export const BATCH_LINE_BYTES_MAX = 6 * 1024 * 1024;

/** Unicode code points of a `custom_id`. Beyond: the line goes to the error file. */
export const BATCH_CUSTOM_ID_CODE_POINTS_MAX = 256;

/**
 * Consecutive attempts of a batch job that may fail or crash without completing a line. Beyond: the batch fails. High,
 * because hours of work are at stake: with the pauses in between, failures of an hour and a half are tolerated.
 */
export const BATCH_ATTEMPTS_MAX = 25;

/**
 * Batch lines that one process runs concurrently, all batches together. Configurable. Beyond: lines wait, batches take
 * turns.
 */
export const BATCH_LINE_CONCURRENCY = 8;

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

/** Ms until a failed callback of a batch is repeated: the first pause, doubled up to the maximum. */
export const CALLBACK_RETRY_MS_MIN = 120_000;
export const CALLBACK_RETRY_MS_MAX = 3_600_000;

/** Ms to connect to a callback's server, until its response headers, and in total. Beyond: repeated later. */
export const CALLBACK_CONNECT_MS = 5_000;
export const CALLBACK_HEAD_MS = 15_000;
export const CALLBACK_TOTAL_MS = 30_000;

/** Bytes of a callback's response that are read and discarded. Beyond: the connection is closed. */
export const CALLBACK_ANSWER_BYTES_MAX = 64 * 1024;

/** Jobs of one kind that a process runs concurrently, unless the kind has another limit. Beyond: they wait. */
export const JOB_CONCURRENCY_DEFAULT = 8;

/** Cancelled waiting jobs that a process finishes concurrently, outside the limit above. Beyond: they wait. */
export const JOB_CANCEL_CONCURRENCY = 16;

/**
 * Share of a kind's concurrency in a process that is not available to a single workspace, rounded down. Beyond: its
 * jobs wait.
 */
export const JOB_OTHER_WORKSPACES_SHARE = 0.25;

/** Ms between polls for jobs that are due, and for the process's jobs that another process has cancelled. */
export const JOB_POLL_MS = 1_000;

/** Ms without a heartbeat after which another process may claim a job. */
export const JOB_LEASE_MS = 20_000;

/** Ms between such heartbeats, which also store the progress. */
export const JOB_LEASE_RENEW_MS = 2_500;

/** Ms for running jobs to stop when their process shuts down. Beyond: they are released as they are. */
export const JOB_GRACE_MS = 5_000;

/** Ms until a failed job is repeated: the first pause, doubled with each consecutive failure up to the maximum. */
export const JOB_RETRY_MS_MIN = 2_000;
export const JOB_RETRY_MS_MAX = 300_000;

/** Characters of a job's error message. Beyond: truncated. */
export const JOB_ERROR_CHARS_MAX = 1_000;

/** Ms that a finished job is kept. Beyond: it is removed. */
export const JOB_RETENTION_MS = 7 * 24 * 3_600_000;

/** Ms between removals of such jobs, and jobs per removal. */
export const JOB_CLEANUP_INTERVAL_MS = 3_600_000;
export const JOB_CLEANUP_PAGE_MAX = 500;

/** Jobs that `parley jobs list` shows: the default, and the maximum. Beyond: the command fails. */
export const JOB_LIST_DEFAULT = 20;
export const JOB_LIST_MAX = 500;

/**
 * Largest capacity of a deployment (docs/wire/dashscope-native.md#deployments). Configurable downwards. Beyond: 400.
 */
export const DEPLOYMENT_CAPACITY_MAX = 999;

/** Deployments of a workspace in a region; each adds metric labels and is known to every process. Beyond: rejected. */
export const DEPLOYMENTS_MAX = 100;

/** Characters of a deployment's suffix (docs/wire/dashscope-native.md#deployments). Beyond: 400. */
export const DEPLOYMENT_SUFFIX_CHARS_MAX = 8;

/** Characters of the base model's name in a deployment's name, which must fit into a path. Beyond: model not found. */
export const DEPLOYMENT_MODEL_CHARS_MAX = 128;

/** Characters of a deployment's display name and other texts that are stored unchanged. Beyond: 400. */
export const DEPLOYMENT_TEXT_CHARS_MAX = 128;

/** Tokens or requests per minute that may be reserved or allowed. Beyond: 400. */
export const DEPLOYMENT_PER_MINUTE_MAX = 1_000_000_000;

/** Tokens of the shortest and the longest context of a deployment. Outside: 400. */
export const DEPLOYMENT_CONTEXT_TOKENS_MIN = 256;
export const DEPLOYMENT_CONTEXT_TOKENS_MAX = 1_048_576;

/** Events kept per deployment. Beyond: the oldest are removed; the log still has them. */
export const DEPLOYMENT_EVENTS_MAX = 200;

/** Characters of the reason of a deployment event. Beyond: truncated. */
export const DEPLOYMENT_REASON_CHARS_MAX = 500;

/** Ms between polls for changes of a deployment by other processes. */
export const DEPLOYMENT_POLL_MS = 1_000;

/** Ms between updates of each process's snapshot of all deployments, which is used to route requests. */
export const DEPLOYMENT_SNAPSHOT_MS = 500;

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

/** Ms during which a worker process collects token usage before it reports the usage to the primary process. */
export const QUOTA_REPORT_MS = 100;

/** Deployments with metrics of their own. Beyond: counted together as `other`. */
export const DEPLOYMENT_SERIES_MAX = 1_000;

/** Attempts to generate an unused random name. Beyond: rejected as already used. */
export const DEPLOYMENT_NAME_ATTEMPTS_MAX = 5;

/**
 * Ms that running calls may continue after a deployment was scaled or deleted: the default (configurable) and the
 * maximum. Beyond: aborted.
 */
export const DEPLOYMENT_DRAIN_MS = 600_000;
export const DEPLOYMENT_DRAIN_MS_MAX = 86_400_000;

/** Ms for a unit of a deployment to generate its first token. Beyond: the unit is not ready. */
export const DEPLOYMENT_PROBE_MS_MAX = 60_000;

/** Ms for the remaining upstream servers to respond once enough have. Beyond: they are not used. */
export const DEPLOYMENT_SERVERS_GRACE_MS = 2_000;

/** Ms for an engine to start; large models load for minutes. Beyond: it is probed for a token, and fails. */
export const DEPLOYMENT_START_MS_MAX = 1_800_000;

/** Ms between health checks of the engines of deployments; the maximum age of `ready_capacity`. */
export const DEPLOYMENT_MONITOR_MS = 1_000;

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

/** Seconds in Retry-After for calls of a deployment that is not ready yet. */
export const DEPLOYMENT_RETRY_SECONDS = 5;

/** Sequences of one context (limit of llama.cpp). Beyond: the deployment gets fewer units. */
export const DEPLOYMENT_SEQUENCES_MAX = 256;

/** Server processes of one deployment on one machine. Beyond: the deployment gets fewer units. */
export const DEPLOYMENT_PROGRAMS_MAX = 64;

/** Bytes of memory that deployments leave to other programs. Beyond: they get fewer units. */
export const DEPLOYMENT_MEMORY_RESERVE_BYTES = 512 * 2 ** 20;

/** The same as a share of the machine's memory; the larger of both applies. */
export const DEPLOYMENT_MEMORY_RESERVE_SHARE = 0.1;

/**
 * Estimated bytes of an engine process besides weights and contexts, and of each unit besides its context. Measured:
 * 300 to 405 MiB with vocabularies of 49,000 and 152,000 tokens, and 1 to 3 MiB; increased by a safety margin.
 */
export const DEPLOYMENT_ENGINE_BYTES = 512 * 2 ** 20;
export const DEPLOYMENT_UNIT_BYTES = 4 * 2 ** 20;

/**
 * Attempts to extract the text of a document when the document is not the cause of the failure. Beyond: its status is
 * `error`.
 */
export const EXTRACT_ATTEMPTS_MAX = 3;

/**
 * Cached texts of documents sent within requests, and their bytes. Beyond: the least recently used text is extracted
 * again.
 */
export const DOCUMENT_CACHE_ENTRIES_MAX = 32;
export const DOCUMENT_CACHE_BYTES_MAX = 32 * 1024 * 1024;

/** Ms that a task is kept after its end: one day (docs/wire/dashscope-native.md#tasks). */
export const TASK_RETENTION_MS = 86_400_000;

/** Ms between removals of expired tasks, and tasks per removal. */
export const TASK_CLEANUP_INTERVAL_MS = 600_000;
export const TASK_CLEANUP_PAGE_MAX = 100;

/**
 * Audio files of one transcription, and bytes of one file (docs/wire/dashscope-native.md#transcription). Beyond: 400;
 * for a file: its part of the task fails.
 */
export const TRANSCRIPTION_FILES_MAX = 100;
export const TRANSCRIPTION_BYTES_MAX = 2_147_483_648;

/** Ms to download an audio file. Beyond: its part of the task fails. */
export const TRANSCRIPTION_FETCH_MS_MAX = 1_800_000;

/** Attempts to download an audio file while its server fails, and ms between them. */
export const TRANSCRIPTION_FETCH_ATTEMPTS_MAX = 3;
export const TRANSCRIPTION_FETCH_PAUSE_MS = 2_000;

/** Seconds that the URL of a result is valid (docs/wire/dashscope-native.md#transcription). */
export const TRANSCRIPTION_URL_SECONDS = 86_400;

/** Transcription jobs that one process runs concurrently. Beyond: they wait. The engine processes one at a time. */
export const TRANSCRIPTION_CONCURRENCY = 2;

/** Channels of an audio file that are transcribed separately. Beyond: 400. */
export const TRANSCRIPTION_CHANNELS_MAX = 8;

/** Ms of silence between words that ends a sentence in a transcribed file. */
export const SENTENCE_PAUSE_MS = 1_300;

/** Characters of the prompt for a speech model. Beyond: 400. The model uses far fewer, the last ones. */
export const TRANSCRIPTION_PROMPT_CHARS_MAX = 10_000;

/**
 * Ms without audio in a realtime recognition without heartbeat (docs/wire/realtime.md#recognition-messages). Beyond:
 * task-failed.
 */
export const REALTIME_SILENCE_MS_MAX = 23_000;

/** Ms without a message after which a realtime recognition with heartbeat gets one. */
export const REALTIME_HEARTBEAT_MS = 10_000;

/** Ms of one realtime recognition in total. Beyond: task-failed. */
export const REALTIME_TASK_MS_MAX = 4 * 3_600_000;

/** Ms of continuous speech after which an intermediate result is sent. */
export const REALTIME_PARTIAL_MS = 3_000;

/** Ms of audio that waits for recognition. Beyond: the connection is not read until it is less. */
export const REALTIME_BACKLOG_MS_MAX = 60_000;

/**
 * Bytes of one JSON message and of one audio message; clients send 12,800 bytes of audio at once. Beyond: task-failed.
 */
export const REALTIME_TEXT_BYTES_MAX = 256 * 1024;
export const REALTIME_AUDIO_BYTES_MAX = 1024 * 1024;

/** Sample rates of the audio in Hz (docs/wire/realtime.md#recognition-messages). Outside: task-failed. */
export const REALTIME_RATE_MIN = 8_000;
export const REALTIME_RATE_MAX = 48_000;

/**
 * Ms of silence that end a sentence: range and default (docs/wire/realtime.md#recognition-messages). Outside:
 * task-failed.
 */
export const SENTENCE_SILENCE_MS_MIN = 200;
export const SENTENCE_SILENCE_MS_MAX = 6_000;
export const SENTENCE_SILENCE_MS_DEFAULT = 1_300;

/** Hotwords sent with a recognition (docs/wire/dashscope-native.md#vocabularies). Beyond: task-failed. */
export const REALTIME_HOTWORDS_MAX = 500;

/** Unicode code points of such a hotword. Beyond: task-failed. */
export const REALTIME_HOTWORD_CODE_POINTS_MAX = 100;

/** Languages that one recognition may name. Beyond: rejected. */
export const LANGUAGE_HINTS_MAX = 20;

/** Bytes of a websocket message. Beyond: the connection is closed with 1009. */
export const SOCKET_MESSAGE_BYTES_MAX = 4 * 1024 * 1024;

/** Bytes that wait for a client that does not read. Beyond: the connection is cut. */
export const SOCKET_SEND_BYTES_MAX = 1024 * 1024;

/** Ms that an idle websocket stays open. Beyond: closed with 1000. */
export const SOCKET_IDLE_MS_MAX = 300_000;

/** Websockets of one process. Beyond: 503. One key may use half of them. Beyond: 429. */
export const SOCKETS_MAX = 1_000;

/** Ms between checks whether the key of an active websocket was revoked. */
export const SOCKET_KEY_CHECK_MS = 5_000;

/** Ms between pongs to a client that is not being read; clients give up after 15 s. */
export const SOCKET_PONG_MS = 5_000;

/**
 * Bytes and seconds of one recording (docs/wire/dashscope-native.md#transcription). Beyond, as for the limits up to
 * AUDIO_RESIDENT_BYTES_MAX: rejected with the limit.
 */
export const AUDIO_BYTES_MAX = 2 * 1024 ** 3;
export const AUDIO_SECONDS_MAX = 12 * 3_600;

/** Channels of a recording, and its sample rate in Hz. */
export const AUDIO_CHANNELS_MAX = 32;
export const AUDIO_RATE_MIN = 4_000;
export const AUDIO_RATE_MAX = 384_000;

/** Bytes of one packet or frame of a recording. */
export const AUDIO_PACKET_BYTES_MAX = 1024 * 1024;

/** Bytes of the index of an MP4 file; 12 hours of the smallest frames take a tenth of it. */
export const AUDIO_INDEX_BYTES_MAX = 64 * 1024 * 1024;

/**
 * Ms of CPU time to decode a recording: a base, plus an amount per second of sound and per MiB of the file. Decoding
 * usually takes a fiftieth of the duration of the sound.
 */
export const AUDIO_DECODE_MS_BASE = 20_000;
export const AUDIO_DECODE_MS_PER_SECOND = 150;
export const AUDIO_DECODE_MS_PER_MIB = 500;

/**
 * Ms of wall-clock time in which the decoder process neither reads nor writes, although both are possible. Beyond: it
 * fails.
 */
export const AUDIO_STALL_MS = 120_000;

/** Megabytes of JavaScript heap, and bytes of resident memory, of the decoder process. */
export const AUDIO_HEAP_MB = 256;
export const AUDIO_RESIDENT_BYTES_MAX = 512 * 1024 * 1024;

/** Recordings that one process decodes concurrently, and recordings that wait. Beyond: 503. */
export const AUDIO_DECODE_CONCURRENCY = 4;
export const AUDIO_DECODE_QUEUE_MAX = 128;

/** Bytes of a call to the speech engine: 30 s of samples, and 500 hotwords with their context. Beyond: 400. */
export const SPEECH_CALL_BYTES_MAX = 4 * 1024 * 1024;

/** Tokens of a text that all-MiniLM-L6-v2 was trained for, special tokens included. Beyond: 400. */
export const MINILM_TOKENS_MAX = 512;

/** Ms of a search in total, and of one provider. Beyond: the provider failed, and the search continues without it. */
export const SEARCH_MS_MAX = 20_000;
export const SEARCH_PROVIDER_MS_MAX = 8_000;

/** Longest pause in seconds of a provider that sent Retry-After. */
export const SEARCH_BACKOFF_SECONDS_MAX = 300;

/** Results used from one provider. Beyond: dropped. */
export const SEARCH_PROVIDER_RESULTS_MAX = 50;

/** Pages of results requested from one provider per query. */
export const SEARCH_PROVIDER_PAGES_MAX = 3;

/** Bytes of a provider's response. Beyond: the provider failed. */
export const SEARCH_ANSWER_BYTES_MAX = 4 * 1024 * 1024;

/**
 * Characters of a query, and of a result's title, site name, passage and URL. Beyond: truncated; a result with a longer
 * URL is dropped.
 */
export const SEARCH_QUERY_CHARS_MAX = 400;
export const SEARCH_TITLE_CHARS_MAX = 300;
export const SEARCH_SITE_NAME_CHARS_MAX = 100;
export const SEARCH_PASSAGE_CHARS_MAX = 4_000;
export const SEARCH_URL_CHARS_MAX = 2_048;

/** Characters of a text from a domain-specific provider, and texts of one provider. Beyond: truncated, dropped. */
export const SEARCH_DOMAIN_RESULT_CHARS_MAX = 4_000;
export const SEARCH_DOMAIN_RESULTS_MAX = 5;

/** Constant k of reciprocal rank fusion, as published. The larger it is, the less the top ranks dominate. */
export const SEARCH_FUSION_K = 60;

/** Bytes of a web page. Configurable. Beyond: reading it fails. */
export const PAGE_BYTES_MAX = 5 * 1024 * 1024;

/** Characters of the text extracted from a page. Configurable. Beyond: truncated. */
export const PAGE_TEXT_CHARS_MAX = 40_000;

/** Ms to fetch a page, and to fetch its site's robots.txt. Beyond: reading the page fails. */
export const PAGE_FETCH_MS_MAX = 15_000;
export const ROBOTS_FETCH_MS_MAX = 8_000;

/** Ms of CPU time, and megabytes of JavaScript heap, to extract the text of a page. Beyond: reading it fails. */
export const PAGE_READ_MS_MAX = 5_000;
export const PAGE_READ_HEAP_MB = 256;

/**
 * Bytes of resident memory of the process that extracts pages, and ms that it is kept idle. Beyond: it is terminated.
 */
export const PAGE_READ_RESIDENT_BYTES_MAX = 768 * 1024 * 1024;
export const PAGE_READ_IDLE_MS = 60_000;

/**
 * Elements of a page, and their nesting depth; long articles have 10,000. Beyond: all text is used, without looking for
 * the article.
 */
export const PAGE_ELEMENTS_MAX = 30_000;
export const PAGE_DEPTH_MAX = 500;

/** Pages that wait for the extraction, and for one host. Beyond: `overloaded`. */
export const PAGES_WAITING_MAX = 64;
export const PAGES_WAITING_PER_HOST_MAX = 16;

/**
 * Concurrent fetches from one host, and ms between their starts: the default, and the maximum that robots.txt may
 * request.
 */
export const PAGES_PER_HOST_MAX = 2;
export const PAGE_HOST_GAP_MS = 500;
export const PAGE_HOST_GAP_MS_MAX = 5_000;

/** Bytes of robots.txt that are used; at least 500 KiB are required (RFC 9309, section 2.5). Beyond: ignored. */
export const ROBOTS_BYTES_MAX = 512 * 1024;

/** Ms that robots.txt is cached: one day (RFC 9309, section 2.4), and less for a site that cannot be reached. */
export const ROBOTS_CACHE_MS = 86_400_000;
export const ROBOTS_UNREACHABLE_CACHE_MS = 60_000;

/** Sites in the robots.txt cache, and their total characters. Beyond: the least recently used entry is evicted. */
export const ROBOTS_CACHE_ENTRIES_MAX = 1_000;
export const ROBOTS_CACHE_CHARS_MAX = 16 * 1024 * 1024;

/** Ms to read a page in total, including the waits for its host and its robots.txt. Beyond: `timeout`. */
export const PAGE_MS_MAX = 30_000;

/** Style sheet rules of a page that are checked for hidden text. Beyond: ignored. */
export const PAGE_STYLE_RULES_MAX = 2_000;

/** Words and characters of a passage in the local index. Beyond: the text continues in the next passage. */
export const INDEX_PASSAGE_WORDS = 200;
export const INDEX_PASSAGE_CHARS_MAX = 1_600;

/** Characters of a term in the local index. Beyond: only these characters are compared. */
export const INDEX_TERM_CHARS_MAX = 40;

/** Passages of one document in the local index, about 400,000 words. Beyond: the document is skipped and reported. */
export const INDEX_DOCUMENT_PASSAGES_MAX = 2_000;

/** Documents of a collection in the local index. Beyond: the others are skipped and reported. */
export const INDEX_DOCUMENTS_MAX = 100_000;

/** Depth of nested folders that are indexed. Beyond: skipped and reported. */
export const INDEX_FOLDER_DEPTH_MAX = 32;

/** URLs and paths of one collection, and bytes of a file that lists URLs. Beyond: the command fails. */
export const INDEX_SOURCES_MAX = 1_000;
export const INDEX_URL_FILE_BYTES_MAX = 1024 * 1024;

/** Terms of a query to the local index. Beyond: only the first ones are used. */
export const INDEX_QUESTION_TERMS_MAX = 32;

/** Characters of a query to the local index. Beyond: ignored. */
export const INDEX_QUESTION_CHARS_MAX = 2_000;

/** Documents that each search method contributes before the results are merged. */
export const INDEX_CANDIDATES = 50;

/**
 * Bytes of vectors compared with one query: 50,000 passages of 384 dimensions. Beyond: only the oldest documents are
 * compared.
 */
export const INDEX_VECTOR_BYTES_MAX = 50_000 * 384;

/** Documents that are indexed concurrently, and problems of a refresh that are listed individually. */
export const INDEX_READ_CONCURRENCY = 2;
export const INDEX_PROBLEMS_LISTED_MAX = 1_000;

/** Characters of a title in the local index. Beyond: truncated. */
export const INDEX_TITLE_CHARS_MAX = 200;

/** Minimum share of the query's terms, weighted by rarity, that a passage must contain. Below: not a result. */
export const INDEX_COVERAGE_MIN = 0.3;

/** Minimum cosine similarity of a query and a passage. Below: unrelated, as far as small models can tell. */
export const INDEX_SIMILARITY_MIN = 0.35;

/** Bytes of a plain text document that is decoded within the service process. Beyond: in a separate process. */
export const QUICK_DOCUMENT_BYTES_MAX = 1024 * 1024;

/**
 * Share of all passages above which a query term is too common to be used, in an index with at least this many
 * passages.
 */
export const INDEX_COMMON_TERM_SHARE = 0.2;
export const INDEX_COMMON_TERMS_PASSAGES_MIN = 1_000;

/** Hosts in the allow or block list of a search (docs/wire/dashscope-native.md#web-search). Beyond: 400. */
export const SEARCH_SITES_MAX = 25;

/** Code points of the caller's text on when and for what to search. Beyond: 400. */
export const SEARCH_HINT_CODE_POINTS_MAX = 2_000;

/** Largest number of uses of a server tool that a caller may allow for one answer. Beyond: 400. */
export const SERVER_TOOL_USES_MAX = 1_000;

/** Characters of a citation's `cited_text` (docs/wire/anthropic-compatible.md#messages-response). Beyond: truncated. */
export const CITED_TEXT_CHARS_MAX = 150;

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
 * Tokens of a report, counted by the model: target ± 15 %, a summary 1,500 to 2,000
 * (docs/wire/dashscope-native.md#deep-research-request).
 */
export const RESEARCH_REPORT_TOKENS = {
  detailed: { target: 6_000, min: 5_100, max: 6_900 },
  summary: { target: 1_750, min: 1_500, max: 2_000 },
} as const;

/**
 * Queries of a plan, one for each section of the report. Beyond: omitted. The remaining budget goes to sections with
 * few results.
 */
export const RESEARCH_PLAN_QUERIES_MAX = { detailed: 8, summary: 4 } as const;

/** Results requested per query, and pages read for it. Beyond: left for other queries. */
export const RESEARCH_RESULTS_MAX = 16;
export const RESEARCH_QUERY_PAGES_MAX = 4;

/** Page texts that a run caches for its other queries. Beyond: the least recently used page is read again. */
export const RESEARCH_PAGE_CACHE_ENTRIES_MAX = 32;

/** Ms for one search, and for one page. Beyond: it failed. */
export const RESEARCH_SEARCH_MS_MAX = 30_000;
export const RESEARCH_PAGE_MS_MAX = 30_000;

/**
 * Notes kept per query, per site of a query, and sent in `learned` events. Beyond: the least relevant ones are dropped.
 */
export const RESEARCH_QUERY_NOTES_MAX = 96;
export const RESEARCH_SITE_NOTES_MAX = 40;
export const RESEARCH_LEARNED_NOTES_MAX = 24;

/** Characters of the paragraph around a note. Beyond: truncated around the note. */
export const RESEARCH_CONTEXT_CHARS_MAX = 1_200;

/** Characters of a source sentence in a report; a third of them for scripts without spaces. Beyond: not used. */
export const RESEARCH_SENTENCE_CHARS_MAX = 360;

/** Characters of the user's text that a plan is made from, and of a title, a heading and a goal. Beyond: truncated. */
export const RESEARCH_TOPIC_CHARS_MAX = 1_200;
export const RESEARCH_TITLE_CHARS_MAX = 80;
export const RESEARCH_HEADING_CHARS_MAX = 60;
export const RESEARCH_GOAL_CHARS_MAX = 160;

/** Tokens of the question to the user, of a plan, and of one paragraph. Beyond: truncated. */
export const RESEARCH_QUESTION_TOKENS_MAX = 200;
export const RESEARCH_PLAN_TOKENS_MAX = 1_200;
export const RESEARCH_PARAGRAPH_TOKENS_MAX = 320;

/**
 * Maximum searches, pages and programs of one answer, whatever the request allows. Beyond: the model answers with what
 * it has.
 */
export const ANSWER_SEARCHES_MAX = 8;
export const ANSWER_PAGES_MAX = 6;
export const ANSWER_PROGRAMS_MAX = 12;

/** Queries per search. */
export const ANSWER_QUERIES_MAX = 3;

/** Rounds of searching, reading and deciding. Beyond: the model answers with what it has. */
export const ANSWER_SEARCH_ROUNDS_MAX = 4;

/** Characters of a query. Beyond: truncated. */
export const ANSWER_QUERY_CHARS_MAX = 300;

/** Results per query, and sources per answer. Beyond: the least relevant ones are dropped. */
export const ANSWER_RESULTS_MAX = 8;
export const ANSWER_SOURCES_MAX = 20;

/** Characters in the prompt: all sources, one source, and one page that was read. Beyond: truncated. */
export const PROMPT_SOURCES_CHARS_MAX = 24_000;
export const PROMPT_SOURCE_CHARS_MAX = 2_000;
export const PROMPT_PAGE_CHARS_MAX = 6_000;

/**
 * Texts of domain-specific providers in the prompt: characters of one, and their number. Beyond: truncated, dropped.
 */
export const PROMPT_DOMAIN_RESULT_CHARS_MAX = 1_000;
export const PROMPT_DOMAIN_RESULTS_MAX = 5;

/**
 * Characters of the conversation in the prompt for a tool decision: the question, and the messages before it. Beyond:
 * truncated.
 */
export const DECISION_QUESTION_CHARS_MAX = 1_500;
export const DECISION_HISTORY_CHARS_MAX = 1_200;

/** Characters of the sources in this prompt. Beyond: truncated. */
export const DECISION_SOURCES_CHARS_MAX = 2_400;

/** Tokens of a tool decision. Beyond: it counts as no decision. */
export const DECISION_TOKENS_MAX = 200;

/** Ms for one search, and for one page. Beyond: it failed. */
export const ANSWER_SEARCH_MS_MAX = 20_000;
export const ANSWER_PAGE_MS_MAX = 30_000;

/** Ms since the start of a request in which server tools may run. Beyond: the model answers with what it has. */
export const ANSWER_TOOLS_MS_MAX = 180_000;

/** Bytes of a program written by a model. Beyond: it is not run. */
export const PROGRAM_BYTES_MAX = 64 * 1024;

/** Characters of a program's output in the prompt. Beyond: the middle is omitted. */
export const PROMPT_PROGRAM_OUTPUT_CHARS_MAX = 4_000;

/** The same when the context is nearly full. */
export const PROMPT_PROGRAM_OUTPUT_CHARS_MIN = 400;

/** Ms that an idle container keeps its variables and files. Beyond: it is closed. */
export const CODE_CONTAINER_IDLE_MS = 20 * 60_000;

/** Containers of one process: the default, and the configurable maximum. Beyond: an idle one is closed; else 503. */
export const CODE_CONTAINERS_DEFAULT = 8;
export const CODE_CONTAINERS_CONFIGURABLE_MAX = 256;

/**
 * MiB of memory for the programs of a container: the default and the configurable range. Beyond: MemoryError, or the
 * container ends.
 */
export const CODE_MEMORY_MB_DEFAULT = 512;
export const CODE_MEMORY_MB_MIN = 64;
export const CODE_MEMORY_MB_MAX = 2_048;

/** Seconds of wall-clock time for one program: the default and the configurable maximum. Beyond: its container ends. */
export const CODE_SECONDS_DEFAULT = 30;
export const CODE_SECONDS_MAX = 3_600;

/** CPU time of a container over its life, as a multiple of the time limit of one program. Beyond: it ends. */
export const CODE_CPU_FULL_RUNS = 40;

/** Ms for a container to start; usually half a second, longer with many wheels. Beyond: 503. */
export const CODE_START_MS_MAX = 60_000;

/**
 * Pauses in ms after a sandbox check that timed out; the last value repeats. The interpreter stays off meanwhile. The
 * first use after a pause starts the next check.
 */
export const SANDBOX_CHECK_RETRY_MS = [5_000, 30_000, 120_000, 600_000] as const;

/** Bytes of a program in a call to the interpreter. Beyond: 400. */
export const CODE_PROGRAM_BYTES_MAX = 1024 * 1024;

/** Bytes of stdout and of stderr that are returned. Beyond: truncated. */
export const CODE_OUTPUT_BYTES_MAX = 256 * 1024;

/** Characters of the value of the last expression, and of an error message. Beyond: truncated. */
export const CODE_TEXT_CHARS_MAX = 64 * 1024;

/** Files returned from one program, and their total bytes. Beyond: the others are dropped. */
export const CODE_FILES_MAX = 16;
export const CODE_FILES_BYTES_MAX = 16 * 1024 * 1024;

/** Input files of a container, and their total bytes; they are in its memory. Beyond: 400. */
export const CODE_INPUTS_MAX = 32;
export const CODE_INPUTS_BYTES_MAX = 64 * 1024 * 1024;

/** Ms that a deep research run, or its result, waits without a reader. Beyond: it is cancelled. */
export const RESEARCH_UNATTENDED_MS_MAX = 60_000;

/** Ms between heartbeats of a run's readers. The reader of a crashed process counts as gone this much too early. */
export const RESEARCH_READER_HEARTBEAT_MS = 2_000;

/** Ms between the checks of a running run: its readers, its key, its deadline, its cancellation. */
export const RESEARCH_RUN_POLL_MS = 1_000;

/** Ms between a reader's polls for steps of another process, and steps per query. */
export const RESEARCH_READER_POLL_MS = 250;
export const RESEARCH_STEPS_PAGE_MAX = 32;

/** Characters of one step as JSON. Beyond: the run fails. */
export const RESEARCH_STEP_CHARS_MAX = 8 * 1024 * 1024;

/** Runs that one process executes concurrently. Beyond: they wait. */
export const RESEARCH_RUN_CONCURRENCY = 8;

/** Ms beyond the time budget in which a run must write its report. Beyond: the run fails. */
export const RESEARCH_REPORT_GRACE_MS = 30 * 60_000;

/**
 * Ms since the last completed step during which a step is repeated that was rejected temporarily, e.g. by a full queue.
 * Beyond: the run fails with that error.
 */
export const RESEARCH_WAIT_MS = 120_000;

/** Ms until such a step is repeated: the first pause, doubled with each consecutive rejection up to the maximum. */
export const RESEARCH_RETRY_MS_MIN = 1_000;
export const RESEARCH_RETRY_MS_MAX = 15_000;

/** Ms that a run is kept after its end and after its last reader. Beyond: it is removed. */
export const RESEARCH_RETENTION_MS = 10 * 60_000;

/** Ms between removals of runs that have no reader or are expired, and runs of each per removal. */
export const RESEARCH_CLEANUP_INTERVAL_MS = 5_000;
export const RESEARCH_CLEANUP_PAGE_MAX = 50;

/** Budget of a deep research run: the defaults, and the configurable maxima. */
export const RESEARCH_QUERIES_DEFAULT = 10;
export const RESEARCH_QUERIES_MAX = 100;
export const RESEARCH_PAGES_DEFAULT = 20;
export const RESEARCH_PAGES_MAX = 1_000;
export const RESEARCH_TOKENS_DEFAULT = 200_000;
export const RESEARCH_TOKENS_MAX = 100_000_000;
export const RESEARCH_MINUTES_DEFAULT = 30;
export const RESEARCH_MINUTES_MAX = 1_440;

/** Unfinished runs of a key, and of a workspace in a region; configurable. Beyond: 429. */
export const RESEARCH_RUNS_PER_KEY_DEFAULT = 2;
export const RESEARCH_RUNS_PER_WORKSPACE_DEFAULT = 4;
