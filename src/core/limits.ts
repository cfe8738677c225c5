/** Every limit of the service: unit in the name, origin and what happens beyond it in the comment. */

/** Specification, E1: seed is 0 to 2^31 − 1. Beyond: 400. */
export const SEED_MAX = 2_147_483_647;

/** wire.md E1.1: n is 1 to 4. Beyond: 400. */
export const CHOICES_MAX = 4;

/** Specification, Limits: 0 to 5. Beyond: 400. */
export const TOP_LOGPROBS_MAX = 5;

/** decisions.md: stop sequences in one request. Beyond: 400. */
export const STOP_SEQUENCES_MAX = 16;

/** decisions.md: Unicode code points of one stop string. Beyond: 400. */
export const STOP_CODE_POINTS_MAX = 256;

/** Ours: token ids of one stop sequence. Beyond: 400. */
export const STOP_TOKENS_MAX = 256;

/** Ours: ms between events of a stream that tells the whole answer so far. Pieces that come meanwhile wait. */
export const CUMULATIVE_EVENT_MS_MIN = 100;

/**
 * Ours: characters a second that such a stream repeats. Beyond: its events come further apart, so that its bytes grow with
 * the time it takes and not with the square of its answer.
 */
export const CUMULATIVE_CHARS_PER_SECOND_MAX = 200_000;

/** About what our encoders take: characters of one log probability in JSON, its token and bytes included. Counted for the bound above. */
export const LOGPROB_CHARS = 90;

/** Ours: messages in one request. Beyond: 400. Far above any context that is served. */
export const MESSAGES_MAX = 10_000;

/** Ours: prompts of one text completion. Beyond: 400. They are answered one after another. */
export const PROMPTS_MAX = 16;

/**
 * Ours: characters, blanks not counted, of the lines after a gap that count as written again when they stand in what fills
 * it. Fewer do where these are all that comes after the gap, or all that the answer ends with.
 */
export const REPEATED_CHARS_MIN = 12;

/** Ours: the same where these lines are all there is. Fewer (`}`, `);`) say nothing: a filling may well end alike. */
export const REPEATED_CHARS_ALONE_MIN = 6;

/** Ours: characters of a line that are compared. Beyond: it counts as the same. */
export const REPEATED_LINE_CHARS_MAX = 200;

/** Ours: parts of one message's content. Beyond: 400. */
export const PARTS_MAX = 1_000;

/**
 * Ours: values in a JSON request body, counted by its commas and brackets. Beyond: 400. A body of tiny values takes fifty
 * times its bytes in memory and seconds to look through.
 */
export const JSON_VALUES_MAX = 200_000;

/** Ours: bytes of a JSON request body. Beyond: 413. Holds a context of a million tokens and its escapes. */
export const JSON_BODY_BYTES_MAX = 16 * 1024 * 1024;

/** Ours: nesting of a JSON request body. Beyond: 400. Keeps recursive code (schemas, templates) off the stack's end. */
export const JSON_DEPTH_MAX = 64;

/** decisions.md: log probabilities below this are null on the wire. */
export const LOGPROB_MIN = -100;

/** decisions.md: names in x-parley-ignored. Beyond: the rest is not named. */
export const IGNORED_NAMES_MAX = 20;

/** decisions.md: bytes of x-parley-ignored. Beyond: the rest is not named. */
export const IGNORED_BYTES_MAX = 1024;

/** decisions.md: silence, in ms, after which a stream says something. Below the 60 s read timeout nginx has by default. */
export const KEEP_ALIVE_MS = 10_000;

/** decisions.md: an unstreamed call ends after this, in ms, with RequestTimeOut. Configurable. */
export const DEADLINE_PLAIN_MS = 300_000;

/** decisions.md: the same for a streamed call. Configurable. */
export const DEADLINE_STREAM_MS = 3_600_000;

/** decisions.md: a revoked key is refused everywhere after at most this, in ms. */
export const KEY_CACHE_MS = 5_000;

/** Ours: keys held in the cache. Beyond: the oldest is forgotten and read again. */
export const KEY_CACHE_MAX = 10_000;

/** Ours: engine events that may wait for a slow reader before the engine is no longer read. */
export const ENGINE_EVENTS_WAITING_MAX = 256;

/** issue 1/12: a request that waited longer than this, in ms, in an engine's queue: 503. */
export const QUEUE_WAIT_MS_MAX = 60_000;

/** Ours: requests that may wait in an engine's queue. Beyond: 503. A key may hold half of them: 429. */
export const QUEUE_PLACES_MAX = 256;

/**
 * Ours: background requests have places of their own in a queue, as this share of those of live ones, so that they never
 * take one from them. Beyond: as above.
 */
export const BACKGROUND_PLACES_SHARE = 0.5;

/**
 * Ours: a background request may wait so many times as long in a queue as a live one: nobody watches it. Beyond: 503, for
 * which a batch rests; much more of it would be taken from the time that a line may take in all.
 */
export const BACKGROUND_WAIT_FACTOR = 2;

/**
 * Ours: a reserved request may wait so many times as long in a queue as a live one, which is as long as any may run: it goes
 * before all live ones, and is not refused because of them. Beyond: 503.
 */
export const RESERVED_WAIT_FACTOR = 60;

/**
 * Ours: ms after a live request for which the embedded engine keeps a sequence free for the next one. Later on background
 * runs have all of them, and the first live request sets one of these aside.
 */
export const LIVE_EXPECTED_MS = 2_000;

/** Ours: of so many slices of prefill of the embedded engine, one is a background prompt's although live ones are there. */
export const BACKGROUND_SLICE_EVERY = 8;

/** Ours: of so many such slices, one is a live prompt's although reserved ones are there. */
export const LIVE_SLICE_EVERY = 4;

/** Ours: characters of a workspace's name. Beyond: refused when a key is made. */
export const WORKSPACE_CHARACTERS_MAX = 64;

/** Ours: characters of a model's name as it was asked for, in log lines and messages: it is whatever the caller wrote. Beyond: cut. */
export const ASKED_CHARS_MAX = 64;

/** Ours: Unicode code points of a key's name. Beyond: refused when the key is made. */
export const KEY_NAME_CODE_POINTS_MAX = 64;

/** Ours: characters of a presented key that are looked at. Beyond: unknown without a lookup. */
export const KEY_SECRET_CHARACTERS_MAX = 256;

/** Ours: keys in one page of a list. */
export const KEY_PAGE_MAX = 500;

/** decisions.md: how long, in ms, a query waits for another process's lock on the database. Beyond: it fails. */
export const STORE_BUSY_MS_MAX = 5_000;

/** Ours: prepared statements kept per connection. Beyond: the one unused for longest is prepared again. */
export const STORE_STATEMENTS_MAX = 200;

/** Ours: model names in the refusal of an unknown model. Beyond: their number. */
export const MODELS_NAMED_MAX = 20;

/** decisions.md: the hub has this long, in ms, to answer. Beyond: the next source is tried. */
export const HUB_CONNECT_MS = 5_000;

/** Ours: silence in mid-download, in ms, after which the connection is given up and the download resumed. */
export const HUB_SILENCE_MS = 30_000;

/** Ours: attempts in a row that bring no byte before a download is given up. */
export const HUB_FRUITLESS_ATTEMPTS_MAX = 3;

/** Ours: pause, in ms, before a fruitless attempt is repeated. */
export const HUB_RETRY_MS = 2_000;

/** Ours: redirects of one download. Beyond: refused. Hubs send one or two. */
export const HUB_REDIRECTS_MAX = 5;

/** Ours: wheels that are fetched at the same time. More does not help on one link. */
export const WHEELS_AT_ONCE = 3;

/** Ours: bytes of a package index page. Beyond: refused. */
export const INDEX_PAGE_BYTES_MAX = 32 * 1024 * 1024;

/** Ours: files and folders of an archive of a runtime; real ones have up to 200. Beyond: refused. */
export const TAR_ENTRIES_MAX = 10_000;

/** Ours: bytes of one file in such an archive. Beyond: refused. */
export const TAR_ENTRY_BYTES_MAX = 512 * 1024 * 1024;

/** Ours: bytes that a download or an explicit cache leaves free on the disk. */
export const DISK_RESERVE_BYTES = 128 * 1024 * 1024;

/** Ours: a download lock whose holder gave no sign for this long, in ms, is taken over. */
export const PULL_LOCK_STALE_MS = 60_000;

/** Ours: how often, in ms, a second process looks whether the first has finished its download. */
export const PULL_LOCK_POLL_MS = 1_000;

/** Ours: times that one download may begin anew because the hub's file was another one. Beyond: given up. */
export const HUB_RESTARTS_MAX = 3;

/** OpenAI's range, which its clients check too: a logit bias is −100 to 100. Beyond: 400. */
export const LOGIT_BIAS_MAX = 100;

/** Ours: entries of one logit_bias. Beyond: 400. */
export const LOGIT_BIAS_ENTRIES_MAX = 1_024;

/** Ours: the largest token id that a request may name; above any vocabulary. Beyond: 400. */
export const TOKEN_ID_MAX = 2_147_483_647;

/** Ours: tools in one request. Beyond: 400. */
export const TOOLS_MAX = 512;

/** Ours: characters of a tool's name, as many as 64 tokens of code-like text may have. Beyond: 400. */
export const TOOL_NAME_CHARACTERS_MAX = 512;

/** wire.md E1.6: characters of the name of a response format's schema. Beyond: 400. */
export const SCHEMA_NAME_CHARACTERS_MAX = 64;

/** wire.md E1.7: parts of one request that may carry cache_control. Beyond: 400. */
export const CACHE_MARKS_MAX = 4;

/** wire.md E8.1: entries of one page of a native list. Beyond: 400. */
export const PAGE_SIZE_MAX = 200;

/** Ours: the number of a page of a native list. Beyond: 400. */
export const PAGE_NUMBER_MAX = 1_000_000;

/** Ours: tokens of a query and a document together, where a model ranks. Beyond: 400. They are evaluated at once. */
export const RERANK_TOKENS_MAX = 2_048;

/** Ours: documents of one reranking request. Beyond: 400. */
export const RERANK_DOCUMENTS_MAX = 500;

/** wire.md 10: texts of one embedding request. Beyond: 400. */
export const EMBEDDING_TEXTS_MAX = 10;

/** wire.md 10: the same for models named after the first two generations (`text-embedding-v1`, `-v2`). Beyond: 400. */
export const EMBEDDING_TEXTS_EARLY_MAX = 25;

/** wire.md 10: tokens of one text of an embedding request, where the model's context holds them. Beyond: 400. */
export const EMBEDDING_TOKENS_MAX = 8_192;

/** Ours: the same where a model reads a text as a whole and not in pieces; memory grows with its square. */
export const EMBEDDING_TOKENS_AT_ONCE_MAX = 2_048;

/** Ours: bytes of a request's headers. Beyond: 431. */
export const HEADER_BYTES_MAX = 32 * 1024;

/** Ours: ms until the headers of a request are there. Beyond: 408. */
export const HEADERS_RECEIVE_MS_MAX = 20_000;

/** Ours: ms until a whole request is there. Beyond: 408. Slow senders must not hold connections. */
export const REQUEST_RECEIVE_MS_MAX = 120_000;

/** Ours: ms a connection may stay open without a request. Above the 60 s that proxies keep theirs. */
export const CONNECTION_IDLE_MS_MAX = 75_000;

/** Ours: ms without progress that a reader may let bytes of its answer wait. Beyond: its connection is closed. */
export const READER_STALL_MS_MAX = 60_000;

/** Ours: characters of one path parameter. Beyond: 404. */
export const PATH_PARAMETER_CHARACTERS_MAX = 512;

/** Ours: seconds in Retry-After where nobody knows better. Small: clients give up on large ones (wire.md 11, 34). */
export const RETRY_AFTER_SECONDS = 2;

/** Ours: seconds in Retry-After at most, whatever an upstream says. Beyond about 120 some clients give up at once. */
export const RETRY_AFTER_SECONDS_MAX = 60;

/** Ours: ms between the abort of the last requests at shutdown and the end of their connections. */
export const ABORT_GRACE_MS = 1_000;

/** Ours: ms until a connection to an upstream stands, TLS included. Beyond: the request fails. */
export const UPSTREAM_CONNECT_MS = 5_000;

/** Ours: ms from there to an upstream's first event; queues and long prompts take their time. Beyond: RequestTimeOut. */
export const UPSTREAM_FIRST_TOKEN_MS = 180_000;

/** Ours: calls at a time in which one prompt is made into tokens, where a server takes one text with each. */
export const TOKEN_SERVER_CALLS_AT_ONCE = 8;

/**
 * Ours: calls at a time for tokens of llama.cpp's server. A connection holds one of its threads, also for 5 s after a call,
 * and it has 4 more of them than slots: what is beyond waits for that long, health checks too.
 */
export const LLAMA_ASKED_AT_ONCE = 2;

/** Ours: pieces of prompts whose tokens an engine keeps, and their characters in all. Beyond: the server is asked again. */
export const PROMPT_PIECES_KEPT_MAX = 1_024;
export const PROMPT_PIECES_KEPT_CHARS_MAX = 1024 * 1024;

/** Ours: token ids whose texts a server is asked for at a time. Its answer has about 30 characters for each. */
export const VOCABULARY_SLICE_TOKENS = 16_384;

/** Ours: silence, in ms, of an upstream in mid-answer. Beyond: the answer breaks off. */
export const UPSTREAM_IDLE_MS = 60_000;

/** Ours: ms that an upstream has for a question that generates nothing: what it is, whether it works, tokens. Beyond: no answer. */
export const UPSTREAM_ASK_MS = 5_000;

/** Ours: ms that a server which did not say what it is is taken as declared. Beyond: it is asked again, and nobody waits for it. */
export const UPSTREAM_ASK_AGAIN_MS = 30_000;

/**
 * Ours: the context assumed where neither the catalogue nor the upstream tells one. Beyond: the upstream itself refuses what is
 * too long for it.
 */
export const UPSTREAM_CONTEXT_TOKENS = 1_000_000;

/** Ours: characters of one event of an upstream's stream. Beyond: the answer breaks off. */
export const UPSTREAM_EVENT_CHARACTERS_MAX = 4 * 1024 * 1024;

/** Ours: tool calls in one answer of an upstream. Beyond: the answer breaks off. */
export const UPSTREAM_CALLS_MAX = 128;

/** Ours: tokens that an upstream may say that an answer has cost, each count by itself. Beyond: it counts as not told. */
export const UPSTREAM_TOKENS_MAX = 2 ** 31 - 1;

/** Ours: characters of an upstream's unstreamed body. Beyond: the request fails. */
export const UPSTREAM_BODY_CHARACTERS_MAX = 16 * 1024 * 1024;

/** Ours: code points of an upstream's own words that are passed on. Beyond: cut. */
export const UPSTREAM_MESSAGE_CODE_POINTS_MAX = 500;

/** Ours: ms that an upstream has to close its answer after the end mark. Beyond: the connection is not used again. */
export const UPSTREAM_TAIL_MS = 1_000;

/** Ours: background requests for each address of a pool while it works on live ones. Beyond: they wait. */
export const POOL_BACKGROUND_BESIDE_LIVE_MAX = 2;

/**
 * Ours: addresses of a pool that one request may be put to before its first event. Beyond: the last one's failure is told.
 * More would multiply the load on a pool that is failing already.
 */
export const POOL_ATTEMPTS_MAX = 3;

/** Ours: characters of a conversation's beginning that decide on its address. What differs only behind them goes together. */
export const POOL_AFFINITY_CHARACTERS_MAX = 8_192;

/**
 * Ours: requests by which the address that knows a beginning may be ahead of the least busy one, and the share of the
 * latter's where that is more. Beyond: the request goes to the least busy. In a batch a few more cost less than a long
 * prompt that is computed anew.
 */
export const POOL_AFFINITY_LEAD_MAX = 4;
export const POOL_AFFINITY_LEAD_SHARE_MAX = 0.25;

/** Ours: failures in a row after which an address gets no more requests for a while. One or two may be the requests' fault. */
export const POOL_FAILURES_IN_ROW_MAX = 3;

/** Ours: outcomes of an address that are remembered, and the failures among them after which the same happens. */
export const POOL_OUTCOMES_KEPT = 20;
export const POOL_FAILURES_KEPT_MAX = 10;

/**
 * Ours: ms that such an address is left alone at first and at most; doubles with each trial that fails. The first is
 * about a restart behind a balancer, the last is how late a repaired server may be noticed.
 */
export const POOL_BACKOFF_MS_MIN = 1_000;
export const POOL_BACKOFF_MS_MAX = 60_000;

/**
 * Ours: ms that the only address of a model is left alone at most. Most requests are refused meanwhile, which helps none
 * of them, and nobody else can answer them.
 */
export const POOL_LONE_BACKOFF_MS_MAX = 4_000;

/**
 * Ours: ms between requests that an address out of use gets while none is in use. Beyond: refused. To refuse all of them
 * would help nobody, and too many would keep a server down that is about to come back.
 */
export const POOL_URGENT_MS = 250;

/**
 * Ours: of a connection failure, what the failure weighs that a server tells in good form. Six different callers must
 * meet it before an address is left alone.
 */
export const POOL_WEAK_WEIGHT = 0.5;

/**
 * Ours: such failures in a row, of one caller at one address, after which this caller's requests avoid it, and for how
 * many ms. Callers remembered for that: the oldest is forgotten, and may be put there again.
 */
export const POOL_DOUBTS_MAX = 3;
export const POOL_DOUBT_MS = 5_000;
export const POOL_DOUBTERS_KEPT_MAX = 1_000;

/** Ours: ms that an address is left alone which was busy and did not say for how long. */
export const POOL_REST_MS = 1_000;

/** Ours: ms, about, between two looks at which addresses are to be probed. */
export const POOL_HEALTH_MS = 1_000;

/** Ours: ms between probes of an address whose last request failed. */
export const POOL_PROBE_SUSPECT_MS = 5_000;

/** Ours: ms without a request after which an address is probed, and between such probes. */
export const POOL_PROBE_IDLE_MS = 60_000;

/** Ours: ms that a probe may take. Beyond: it counts as failed. */
export const POOL_PROBE_MS_MAX = 5_000;

/** Ours: probes of one pool that run at the same time. Beyond: they wait for the next look. */
export const POOL_PROBES_AT_ONCE = 4;

/** Ours: ms that the first address's word on the model waits for what the others say. */
export const POOL_MODEL_WAIT_MS = 1_000;

/** Ours: ms after which an address that did not tell its model is asked again. */
export const POOL_MODEL_AGAIN_MS = 60_000;

/** Ours: ms after which addresses are asked again of which none has told its model yet. */
export const POOL_MODEL_UNTOLD_MS = 5_000;

/** Ours: ms that an answer which has begun may wait for its first reader. Beyond: it is given up. */
export const POOL_UNREAD_MS_MAX = 60_000;

/** Ours: how long a stream that broke off may take, in ms, to tell what it consumed. Beyond: the log line goes without. */
export const RELEASE_MS_MAX = 500;

/** Ours: characters at the end of a phase's output in which its triggers are looked for. Longer markup is not seen. */
export const TRIGGER_WINDOW_CHARS = 512;

/** Specification, E1: tokens of a function's name, as the model counts them. Beyond: 400. */
export const TOOL_NAME_TOKENS_MAX = 64;

/** decisions.md: tokens of the shortest beginning of a prompt that an explicit cache keeps. Beyond: nothing is created. */
export const EXPLICIT_CACHE_TOKENS_MIN = 1_024;

/** decisions.md: how long, in ms, an explicit cache keeps what nobody uses. A hit starts it anew. */
export const EXPLICIT_CACHE_MS = 300_000;

/**
 * Ours: bytes of one workspace's explicit cache in one engine; about 87,000 tokens of a 0.5B model. Beyond: what was unused
 * for longest goes; what is larger by itself is not kept.
 */
export const EXPLICIT_CACHE_WORKSPACE_BYTES_MAX = 1024 * 1024 * 1024;

/** Ours: the same for all workspaces of one engine. Beyond: what was unused for longest goes, whoever's it is. */
export const EXPLICIT_CACHE_BYTES_MAX = 4 * 1024 * 1024 * 1024;

/** Ours: beginnings one workspace's explicit cache keeps; each is looked at for every marked prompt. Beyond: as above. */
export const EXPLICIT_CACHE_ENTRIES_MAX = 64;

/** Ours: phases of one run; a call of each of TOOLS_MAX tools takes one or two. Beyond: refused by the engine. */
export const PHASES_MAX = 2_000;

/** Ours: triggers of one run, all phases together. Beyond: refused by the engine. */
export const TRIGGERS_MAX = 10_000;

/** Ours: phases in a row that end without a token. Beyond: the answer is over; it would go round for ever. */
export const EMPTY_PHASES_MAX = 8;

/** Ours: ms in which the grammars of one request have to be compiled. Beyond: 400. */
export const GRAMMAR_COMPILE_MS_MAX = 2_000;

/** Ours: megabytes of JavaScript heap for compiling grammars. Beyond: 400. */
export const GRAMMAR_COMPILE_HEAP_MB = 192;

/** Ours: compiled grammars that an engine keeps. Beyond: what was unused for longest is compiled anew. */
export const GRAMMARS_KEPT_MAX = 1_024;

/** Ours: their characters in all; parsed they take up to eight times as many bytes. Beyond: the same. */
export const GRAMMARS_KEPT_CHARS_MAX = 8 * 1024 * 1024;

/** Ours: ms of processor time that choosing one token under a grammar may take. Beyond: the request fails; others do not wait for it. */
export const GRAMMAR_SAMPLE_MS_MAX = 1_000;

/** Ours: a token under a grammar costs less than this, in ms of it, where the grammar is plain. What is above it is counted. */
export const GRAMMAR_SAMPLE_MS_PLAIN = 250;

/** Ours: ms of it above the plain cost that the grammars of one answer may take in all. Beyond: the request fails. */
export const GRAMMAR_SLOW_MS_MAX = 5_000;

/**
 * Ours: ms that a token may stay in the making after its request was given up. Nothing can interrupt the library there:
 * beyond it the engine process ends, as soon as nobody uses it, and is started anew.
 */
export const GRAMMAR_STUCK_MS_MAX = 20_000;

/** Ours: the same, in ms, where somebody always uses it. */
export const GRAMMAR_STUCK_BUSY_MS_MAX = 120_000;

/** Ours: tokens that may be in such a state at a time; each holds a core and one of four threads. Beyond: it ends at once. */
export const GRAMMAR_STUCK_MAX = 2;

/** Ours: schemas in one JSON Schema document, its own included. Beyond: 400. */
export const SCHEMA_NODES_MAX = 10_000;

/** Ours: schemas inside each other, references followed, while a grammar is made. Beyond: 400. */
export const SCHEMA_DEPTH_MAX = 200;

/** Ours: properties of one object, merged ones included. Beyond: 400. */
export const SCHEMA_PROPERTIES_MAX = 1_000;

/** Ours: ways to satisfy one schema, after anyOf, oneOf and allOf have been multiplied out. Beyond: 400. */
export const SCHEMA_ALTERNATIVES_MAX = 256;

/** Ours: steps of multiplying out in one document. Beyond: 400. */
export const SCHEMA_EXPANSION_STEPS_MAX = 200_000;

/** Ours: items or properties that a grammar counts. A larger minimum: 400; a larger maximum is checked afterwards. */
export const GRAMMAR_COUNT_MAX = 256;

/** Ours: positions, slots times count, up to which minProperties and maxProperties are counted in the grammar. */
export const GRAMMAR_POSITIONS_MAX = 2_000;

/** Ours: code points up to which a string's length stands in the grammar; a larger minimum: 400, maximum: checked. */
export const GRAMMAR_LENGTH_MAX = 1_000;

/** Ours: patternProperties of one object; their overlaps double with each. Beyond: 400. */
export const GRAMMAR_PATTERN_PROPERTIES_MAX = 4;

/** Ours: members looked at where arrays or objects are alternatives to each other. Beyond: 400. */
export const GRAMMAR_COMBINATIONS_MAX = 20_000;

/** Ours: patterns, formats, lengths and ranges of numbers of one schema, each counted once. Beyond: 400. */
export const GRAMMAR_LANGUAGES_MAX = 1_000;

/** Ours: rules of one grammar. Beyond: 400. */
export const GRAMMAR_RULES_MAX = 20_000;

/** Ours: characters of one grammar. Beyond: 400. */
export const GRAMMAR_CHARACTERS_MAX = 1024 * 1024;

/** Ours: parses that a grammar lets an engine follow at the same time. Beyond: 400; each costs memory per token. */
export const GRAMMAR_PARSES_MAX = 512;

/** Ours: ms that checking one answer against its schema may take. Beyond: the answer fails, as one that is not valid does. */
export const ANSWER_CHECK_MS_MAX = 2_000;

/** Ours: megabytes of JavaScript heap for it. Beyond: the same. */
export const ANSWER_CHECK_HEAP_MB = 192;

/** Ours: answers that may wait to be checked. Beyond: 503. A key may hold half of them. */
export const ANSWER_CHECKS_WAITING_MAX = 64;

/** Ours: ms that an answer may wait for its check. Beyond: 503. */
export const ANSWER_CHECK_WAIT_MS_MAX = 20_000;

/** Ours: schemas whose checks are kept by the thread that makes them. Beyond: what was unused for longest is made anew. */
export const ANSWER_CHECKS_KEPT_MAX = 64;

/** Ours: their characters in all; automata made of them take many times as many bytes. Beyond: the same. */
export const ANSWER_CHECKS_KEPT_CHARS_MAX = 256 * 1024;

/** Ours: steps of checking one value against a schema. Beyond: the value counts as not valid, and says why. */
export const SCHEMA_CHECK_STEPS_MAX = 1_000_000;

/** Ours: states of one automaton (a pattern, a format, a range of numbers). Beyond: 400. A rule of the grammar each. */
export const AUTOMATON_STATES_MAX = 2_000;

/** Ours: ranges of characters in the moves of one automaton. Beyond: 400. `\p{L}` alone takes 700. */
export const AUTOMATON_MOVES_MAX = 200_000;

/** Ours: states looked at while an automaton is worked out, and those times the letters told apart. Beyond: 400. */
export const AUTOMATON_STATES_EXPLORED_MAX = 20_000;
export const AUTOMATON_CELLS_MAX = 1_000_000;

/** Ours: steps, of less than a microsecond, in which an automaton has to be worked out. Beyond: 400. */
export const AUTOMATON_STEPS_MAX = 500_000;

/** Ours: the same steps for all automata of one grammar, or of one schema's check. Beyond: 400. */
export const AUTOMATA_WORK_MAX = 3_000_000;

/** Ours: what one of the different `\p{…}` of a schema counts among them. */
export const PROPERTY_STEPS = 50_000;

/** Ours: automata that are kept for the schemas to come, and the ranges of characters in all their moves. */
export const LANGUAGES_KEPT_MAX = 512;
export const LANGUAGES_KEPT_RANGES_MAX = 500_000;

/** Ours: the same for sets of characters as `\p{…}` names them. */
export const PROPERTIES_KEPT_MAX = 64;
export const PROPERTIES_KEPT_RANGES_MAX = 50_000;

/** Ours: characters of a regular expression. Beyond: 400. */
export const PATTERN_CHARACTERS_MAX = 10_000;

/** Ours: groups inside each other in a regular expression. Beyond: 400. Keeps recursive code off the stack's end. */
export const PATTERN_DEPTH_MAX = 100;

/** Ours: lookaheads of a regular expression; each is worked out like an expression of its own. Beyond: 400. */
export const PATTERN_LOOKAHEADS_MAX = 8;

/** Ours: different `\p{…}` in a regular expression. Beyond: 400. Each takes up to 15 ms. */
export const PATTERN_PROPERTIES_MAX = 8;

/** Ours: steps of a regular expression after its repetitions are written out. Beyond: 400. */
export const PATTERN_NODES_MAX = 20_000;

/** Ours: digits before the point of a number that no bound limits. Holds what a double tells apart. */
export const NUMBER_DIGITS_MAX = 16;

/** Ours: bounds of a number up to this power of ten are kept to. Beyond: as without one, or 400 where nothing is left. */
export const NUMBER_DIGITS_BOUNDED_MAX = 40;

/** Ours: digits of a number that has to be a multiple; doubles hold all of so many. Longer ones are not offered. */
export const NUMBER_DIGITS_EXACT_MAX = 15;

/** Ours: decimal places of a number. Longer ones are not offered. */
export const NUMBER_PLACES_MAX = 15;

/** Ours: multiples that are listed one by one instead of counting remainders. */
export const NUMBER_MULTIPLES_LISTED_MAX = 500;

/** wire.md E2.2: tokens of a text to translate, with its terms, memory and domain. Beyond: 400. */
export const TRANSLATION_INPUT_TOKENS_MAX = 8_192;

/** Ours: tokens of what is translated at once, about. A longer line is translated in several runs, sentences together. */
export const TRANSLATION_SEGMENT_TOKENS_MAX = 128;

/** Ours: terms, and pairs of the memory, of one translation. Beyond: 400. */
export const TRANSLATION_PAIRS_MAX = 2_000;

/** Ours: names in `include` of one response. Beyond: 400. Clients know about a dozen. */
export const INCLUDES_MAX = 64;

/** Ours: the share of the context that an answer is left when older turns make way for it, and the largest that a caller's own limit claims. */
export const ANSWER_SHARE_DEFAULT = 1 / 8;
export const ANSWER_SHARE_MAX = 1 / 2;

/** Specification, E6: items of one call that makes a conversation or adds to one. Beyond: 400. */
export const CONVERSATION_ITEMS_MAX = 20;

/** Specification, E6: pairs of metadata, and Unicode code points of a key and of a value. Beyond: 400. */
export const METADATA_PAIRS_MAX = 16;
export const METADATA_KEY_CODE_POINTS_MAX = 64;
export const METADATA_VALUE_CODE_POINTS_MAX = 512;

/** wire.md E6.1: items of one page of a list, and how many there are where nothing is asked for. Beyond: 400. */
export const ITEM_PAGE_MAX = 100;
export const ITEM_PAGE_DEFAULT = 20;

/** Ours: bytes of JSON in such a page. Beyond: it ends earlier, but never before its first item, and says that there is more. */
export const ITEM_PAGE_BYTES_MAX = 16 * 1024 * 1024;

/** Ours: items of a history that are read for an answer. Beyond: the oldest are not read. Far above any context that is served. */
export const HISTORY_ITEMS_MAX = 10_000;

/** Ours: their bytes of JSON. Beyond: the same. Holds a context of a million tokens and its escapes. */
export const HISTORY_BYTES_MAX = 16 * 1024 * 1024;

/**
 * Ours: bytes of the items that one request refers to by their ids, each as often as it does. Beyond: 413, as where they stood in
 * its body.
 */
export const REFERRED_BYTES_MAX = 16 * 1024 * 1024;

/** Ours: responses that one goes back along `previous_response_id`. Beyond: the oldest are not read. */
export const HISTORY_LINKS_MAX = 10_000;

/** Ours: how long, in ms, an answer in the making keeps its conversation without a sign of life. Beyond: the next may take it. */
export const TURN_LEASE_MS = 10_000;

/** Ours: between such signs of life, in ms. */
export const TURN_RENEW_MS = 2_500;

/** Ours: when, in s, a caller whose conversation is taken may try again. A client that does so twice outlives the lease of a dead turn. */
export const TURN_RETRY_SECONDS = TURN_LEASE_MS / 2_000;

/** Ours: responses of one key that are made while nobody waits and have not ended. Beyond: 429. */
export const BACKGROUND_UNFINISHED_MAX = 64;

/** Ours: of these, how many one process makes at a time. Beyond: they wait. */
export const BACKGROUND_AT_ONCE = 32;

/** Ours: how long, in ms, the events of such a response are kept after its end. Beyond: they cannot be streamed again, 400. */
export const BACKGROUND_EVENTS_MS = 3_600_000;

/** Ours: ms between looks for events that are kept no longer; such responses that are cleared at once. */
export const BACKGROUND_EVENTS_LOOK_MS = 300_000;
export const BACKGROUND_EVENTS_PAGE_MAX = 50;

/** Ours: characters of all events of such a response. Beyond: it fails. */
export const BACKGROUND_EVENT_CHARS_MAX = 64 * 1024 * 1024;

/** Ours: ms between its writes of events, and characters of them that wait. Beyond: the engine waits. */
export const BACKGROUND_WRITE_MS = 100;
export const BACKGROUND_WRITE_CHARS_MAX = 256 * 1024;

/** Ours: ms between looks for events that another process writes, and rows of them that are read at once. */
export const BACKGROUND_LOOK_MS = 150;
export const BACKGROUND_CHUNKS_MAX = 16;

/**
 * Ours: how long, in ms from its making, such a response waits where a live one is refused for now: its conversation is taken,
 * the queue is full. Beyond: it fails with that refusal.
 */
export const BACKGROUND_WAIT_MS = 600_000;

/** Ours: ms between its tries meanwhile. */
export const BACKGROUND_RETRY_MS = 1_000;

/** wire.md E7.1: vocabularies of a workspace in a region, and entries of one. Configurable. Beyond: 400. */
export const VOCABULARIES_MAX = 10;
export const VOCABULARY_ENTRIES_MAX = 500;

/** Specification, E7: characters of a vocabulary's prefix. Beyond: 400. */
export const VOCABULARY_PREFIX_CHARS_MAX = 10;

/** Ours: characters of the name of the model that a vocabulary is for. Beyond: 400. */
export const TARGET_MODEL_CHARS_MAX = 128;

/** Specification, E7: Unicode code points of an entry where one of them is not ASCII, and words of any other. Beyond: 400. */
export const HOTWORD_CODE_POINTS_MAX = 15;
export const HOTWORD_WORDS_MAX = 7;

/** Ours: characters of an entry that is ASCII alone: a word of it has no limit of its own. Beyond: 400. */
export const HOTWORD_ASCII_CHARS_MAX = 256;

/** Specification, E7: the weight of an entry; 1 is the least. Beyond: 400. */
export const HOTWORD_WEIGHT_MAX = 5;

/** Ours: ms between looks for what has passed its age. */
export const RETENTION_LOOK_MS = 3_600_000;

/** Ours: conversations or responses of one page of what the operator reads or removes; each goes in a transaction of its own. */
export const OPERATOR_PAGE_MAX = 50;

/** Ours: characters of log lines that wait to be written. Beyond: lines are lost, and counted. */
export const LOG_CHARS_WAITING_MAX = 4 * 1024 * 1024;

/** Ours: bytes of an upload that are written to disk at once; about twice as many are held while it runs. */
export const DISK_WRITE_BYTES = 1024 * 1024;

/** Ours: bytes of a stored file that are read ahead. */
export const DISK_READ_BYTES = 256 * 1024;

/** S3 multipart: bytes of a part, at least 5 MiB but for the last. Small parts keep memory small; all are the same, as R2 asks. */
export const S3_PART_BYTES = 5 * 1024 * 1024;

/** S3 multipart: parts of one object. Beyond: the upload is refused as too large; it is 48 GB. */
export const S3_PARTS_MAX = 10_000;

/** Ours: parts of one upload that are on their way while the next is gathered. Beyond: its sender waits. */
export const S3_PARTS_AHEAD = 2;

/** Ours: bytes of an upload that are in memory until they are on the disk, where its parts are gathered. Parts are a multiple of it. */
export const S3_SPOOL_WRITE_BYTES = 256 * 1024;

/** Ours: the same for all uploads of a store together: no others are in memory. Beyond: they wait on the disk, in order. */
export const S3_PARTS_AT_ONCE = 16;

/** Ours: connections to the object store, each held by a download while it runs. Beyond: calls wait. */
export const S3_SOCKETS_MAX = 512;

/** Ours: ms for a connection to stand, for the head of an answer to come, and of silence on a connection. Beyond: tried again, then failed. */
export const S3_CONNECT_MS = 5_000;
export const S3_HEAD_MS = 60_000;
export const S3_SILENCE_MS = 120_000;

/** Ours: ms that a request to the object store which nobody wants any more may take to be answered. Beyond: it is cut off. */
export const S3_GRACE_MS = 5_000;

/** Ours: characters of a URL that we are asked to fetch. Beyond: 400. */
export const FETCH_URL_CHARS_MAX = 8_192;

/** Ours: ms for a name to be resolved and the connection to stand, for the head of the answer, and for all of it. Beyond: given up. */
export const FETCH_CONNECT_MS = 10_000;
export const FETCH_HEAD_MS = 30_000;
export const FETCH_WHOLE_MS = 600_000;

/** Ours: redirects that are followed. Beyond: the fetch fails. */
export const FETCH_REDIRECTS_MAX = 5;

/** Ours: bytes of an answer's headers. Beyond: the fetch fails. */
export const FETCH_HEADER_BYTES_MAX = 16 * 1024;

/** Ours: bytes of a packed body for each one sent. Beyond: the fetch fails, once more than so many bytes have come of it. */
export const FETCH_UNPACK_RATIO_MAX = 200;
export const FETCH_UNPACK_FREE_BYTES = 1024 * 1024;

/** Specification, Limits: bytes of one file, bytes and number of the files of a workspace in a region. Configurable. Beyond: the file is refused. */
export const FILE_BYTES_MAX = 1024 ** 3;
export const FILES_BYTES_MAX = 5 * 1024 ** 3;
export const FILES_COUNT_MAX = 100;

/** Specification, Limits: files of one page of the native list. Beyond: 400. */
export const FILE_PAGE_MAX = 100;

/** wire.md E9.2: files of one page of the compatible list, also where nothing is asked for. Beyond: 400. */
export const FILE_LIST_MAX = 2_000;

/** Ours: Unicode code points of a file's name. Beyond: its middle is left out, its ending stays. */
export const FILE_NAME_CODE_POINTS_MAX = 255;

/** Ours: Unicode code points of a file's description. Beyond: 400. */
export const FILE_DESCRIPTION_CODE_POINTS_MAX = 1_000;

/**
 * Ours: bytes that are reserved for a file whose length nobody knows, at first and at once. In between as many again as
 * it has: small files do not hold each other's room, and large ones do not ask for each piece.
 */
export const FILE_RESERVE_BYTES_MIN = 64 * 1024;
export const FILE_RESERVE_BYTES_MAX = 16 * 1024 * 1024;

/**
 * Ours: how long, in ms, a file waits for room that others have reserved and may give back; and how long the one that came
 * last does, which is refused first so that the others can go on. Beyond: it is refused.
 */
export const FILE_ROOM_WAIT_MS = 20_000;
export const FILE_ROOM_WAIT_LAST_MS = 2_000;

/**
 * Ours: ms between its looks, and between its tries where no look shows room. Once the last one has waited for long enough,
 * one after another is refused at the pace of the tries until the rest have room.
 */
export const FILE_ROOM_LOOK_MS = 25;
export const FILE_ROOM_TRY_MS = 100;

/** Ours: how long, in ms, a reservation holds without a sign of life. Beyond: its room is given back. */
export const FILE_LEASE_MS = 60_000;

/** Ours: between such signs of life, in ms. */
export const FILE_RENEW_MS = 15_000;

/** Ours: ms between looks for reservations that nobody renews, and for files that were half deleted. */
export const FILE_LOOK_MS = 30_000;

/** Ours: ms between comparisons of all blobs with their records. */
export const FILE_COMPARE_MS = 3_600_000;

/**
 * Ours: the age, in ms, below which a blob without a record, or a part of one, is let alone. Longer than any upload. Where
 * there is a record, or a reservation, that one says when.
 */
export const FILE_ORPHAN_MS = 24 * 3_600_000;

/** Ours: files that are swept or compared with their records at once. */
export const FILE_SWEEP_PAGE_MAX = 200;

/** wire.md E9.2: bytes of the input of a batch, and of one that is a rehearsal. Beyond: 400 where the batch is made. */
export const BATCH_INPUT_BYTES_MAX = 500 * 1024 ** 2;
export const BATCH_TEST_BYTES_MAX = 1024 ** 2;

/** wire.md E9.3: hours of a completion window. Beyond: 400. */
export const BATCH_WINDOW_HOURS_MIN = 24;
export const BATCH_WINDOW_HOURS_MAX = 336;

/** wire.md E9.3: Unicode code points of a batch's name and description. Beyond: 400. */
export const BATCH_NAME_CODE_POINTS_MAX = 100;
export const BATCH_DESCRIPTION_CODE_POINTS_MAX = 200;

/** wire.md E9.3: batches of one page of a list, and how many there are where nothing is asked for. Beyond: 400. */
export const BATCH_PAGE_MAX = 100;
export const BATCH_PAGE_DEFAULT = 20;

/** wire.md E9.3: input files that a list may name. Beyond: 400. */
export const BATCH_LIST_FILES_MAX = 20;

/** wire.md E9.3: the age, in ms, of batches that a list shows. Older ones are found by their ids only. */
export const BATCH_LIST_AGE_MS = 30 * 24 * 3_600_000;

/** Ours: bytes that are reserved for the results of a batch, at least; otherwise twice its input. */
export const BATCH_RESERVE_BYTES_MIN = 1024 ** 2;

/** Ours: ms between looks at whether a batch that has room reserved is still there. */
export const BATCH_HOLD_MS = 3_600_000;

/** Ours: problems of a batch that failed which are kept. The others are not told. */
export const BATCH_PROBLEMS_MAX = 100;

/** Ours: results that are read at once while a file is written, and that are removed at once afterwards. */
export const BATCH_RESULTS_PAGE_MAX = 32;
export const BATCH_RESULTS_REMOVED_MAX = 500;

/** Ours: seconds for which the address of a download is good. Configurable. */
export const FILE_URL_SECONDS = 3_600;

/** Ours: files in one upload. Beyond: 400. As many as a workspace may have. */
export const UPLOAD_FILES_MAX = 100;

/** Ours: text fields in one upload. Beyond: 400. A description for each file, and a few besides. */
export const UPLOAD_FIELDS_MAX = 150;

/** Ours: bytes of a text field of an upload. Beyond: 400. */
export const UPLOAD_FIELD_BYTES_MAX = 16 * 1024;

/** Ours: bytes of the headers of one part of an upload. Beyond: 400. */
export const UPLOAD_PART_HEADER_BYTES_MAX = 16 * 1024;

/** Ours: bytes of an upload besides its files. Beyond: 413. */
export const UPLOAD_EXTRA_BYTES_MAX = 4 * 1024 * 1024;

/** Ours: ms without a byte of an upload. Beyond: 408. */
export const UPLOAD_STALL_MS = 60_000;

/** Ours: ms that an upload or a download may take. Beyond: it is broken off. A gigabyte at 400 kbit/s. */
export const TRANSFER_MS_MAX = 6 * 3_600_000;

/** Ours: of a job that asks for nothing else; lower ones come first. */
export const JOB_PRIORITY_DEFAULT = 5;

/** Ours: times in a row that a job may fail, or end with its process. Beyond: it is given up. */
export const JOB_TRIES_DEFAULT = 5;

/** wire.md E9.2: bytes of a file of which the text is read. Beyond: its status is error, with the reason; so too all that follow. */
export const DOCUMENT_BYTES_MAX = 150 * 1024 * 1024;

/** Ours: bytes of the text of one document, in UTF-8. Holds a context of a million tokens. */
export const DOCUMENT_TEXT_BYTES_MAX = 16 * 1024 * 1024;

/** Ours: ms of the processor for reading one. */
export const DOCUMENT_READ_MS_MAX = 60_000;

/** Ours: megabytes of JavaScript heap, and bytes of memory in all, of the process that reads one. */
export const DOCUMENT_HEAP_MB = 512;
export const DOCUMENT_RESIDENT_BYTES_MAX = 1024 ** 3;

/** Ours: pages of a PDF. */
export const DOCUMENT_PAGES_MAX = 10_000;

/** Ours: elements inside each other in a page or an XML file. */
export const DOCUMENT_DEPTH_MAX = 5_000;

/** Ours: files inside an office's file or a book, bytes of one of them unpacked, and of all that are read. */
export const DOCUMENT_ZIP_ENTRIES_MAX = 20_000;
export const DOCUMENT_ZIP_FILE_BYTES_MAX = 192 * 1024 * 1024;
export const DOCUMENT_UNPACKED_BYTES_MAX = 256 * 1024 * 1024;

/** Ours: documents that are read at once by a process of the service, and those that may wait for it. Beyond: 503. */
export const DOCUMENTS_AT_ONCE = 2;
export const DOCUMENTS_WAITING_MAX = 32;

/** Ours: documents that one request may name. Beyond: 400. As many as a workspace may have files. */
export const REQUEST_DOCUMENTS_MAX = 100;

/** Ours: bytes of their texts. Beyond: 400, with both numbers. More than any context that is served. */
export const REQUEST_DOCUMENT_BYTES_MAX = 16 * 1024 * 1024;
/** wire.md E9.2: lines of the input of a batch; wire.md E9.3: of that of a dry run. Beyond: the batch fails. */
export const BATCH_LINES_MAX = 50_000;
export const BATCH_TEST_LINES_MAX = 100;

/** wire.md E9.2: bytes of one line of it. Beyond: that line goes to the error file. */
export const BATCH_LINE_BYTES_MAX = 6 * 1024 * 1024;

/** Ours: Unicode code points of a custom_id. Beyond: the line goes to the error file. */
export const BATCH_CUSTOM_ID_CODE_POINTS_MAX = 256;

/**
 * Ours: times in a row that the work of a batch may fail, or end with its process, without a line that was answered. Beyond: it
 * is given up. Many, as hours of work are at stake: with the waits in between, failures of an hour and a half are outlived.
 */
export const BATCH_TRIES = 25;

/** Ours: lines of batches that one process runs at once, all batches together. Configurable. Beyond: lines wait, each batch in its turn. */
export const BATCH_CONCURRENCY = 8;

/** Ours: batches that one process works at, at a time. Beyond: they wait. */
export const BATCHES_AT_ONCE = 32;

/** Ours: results of a batch that are written at once, their bytes, and how long, in ms, the first of them waits for the others. */
export const BATCH_GROUP_RESULTS_MAX = 32;
export const BATCH_GROUP_BYTES_MAX = 1024 * 1024;
export const BATCH_GROUP_MS = 50;

/** Ours: bytes of a batch's input that are read at once: no connection waits while its lines are run. */
export const BATCH_READ_BYTES = 1024 * 1024;

/** Ours: lines of a batch of which it is asked at once which have a result. */
export const BATCH_LOOK_LINES = 1_000;

/** Ours: ms between looks whether the window of a running batch is over. */
export const BATCH_WINDOW_LOOK_MS = 1_000;

/** Ours: ms that a batch rests after a line of it was refused for want of room; doubled each time up to the second. */
export const BATCH_REST_MS_MIN = 500;
export const BATCH_REST_MS_MAX = 30_000;

/** Ours: ms until the end of a batch is told to its callback once more; doubled each time, up to the second. */
export const CALLBACK_RETRY_MS_MIN = 120_000;
export const CALLBACK_RETRY_MS_MAX = 3_600_000;

/** Ours: ms for a callback to be connected to, to begin its answer, and for all of it. Beyond: tried again later. */
export const CALLBACK_CONNECT_MS = 5_000;
export const CALLBACK_HEAD_MS = 15_000;
export const CALLBACK_WHOLE_MS = 30_000;

/** Ours: bytes of a callback's answer that are read; nobody looks at them. Beyond: the connection is closed. */
export const CALLBACK_ANSWER_BYTES_MAX = 64 * 1024;

/** Ours: jobs of a kind that one process runs at a time, where the kind says nothing else. Beyond: they wait. */
export const JOBS_AT_ONCE_DEFAULT = 8;

/** Ours: waiting jobs that one process ends at a time because they were cancelled; for that they need no place. Beyond: they wait. */
export const JOBS_CANCELLED_AT_ONCE = 16;

/** Ours: the part of a kind's places in a process that one workspace never takes, whole places only. Beyond: its jobs wait. */
export const JOBS_PART_OF_OTHERS = 0.25;

/** Ours: ms between looks for jobs that are due, and for those among one's own that another process has cancelled. */
export const JOB_LOOK_MS = 1_000;

/** Ours: how long, in ms, a job keeps its process without a sign of life. Beyond: the next one that looks takes it. */
export const JOB_LEASE_MS = 20_000;

/** Ours: between such signs of life, in ms; progress is told with them. */
export const JOB_RENEW_MS = 2_500;

/** Ours: ms that running jobs have to stop when their process does. Beyond: they are given back as they are. */
export const JOB_GRACE_MS = 5_000;

/** Ours: ms before a failed job is tried again, at first and at most; doubles with each failure in a row. */
export const JOB_RETRY_MS_MIN = 2_000;
export const JOB_RETRY_MS_MAX = 300_000;

/** Ours: characters of why a job failed. Beyond: cut. */
export const JOB_ERROR_CHARS_MAX = 1_000;

/** Ours: ms after its end for which a job can be looked at. Beyond: it is removed. */
export const JOB_KEPT_MS = 7 * 24 * 3_600_000;

/** Ours: ms between looks for such jobs, and how many are removed at once. */
export const JOB_SWEEP_MS = 3_600_000;
export const JOB_SWEEP_PAGE_MAX = 500;

/** Ours: jobs that `parley jobs list` shows, where nothing is asked for and at most. Beyond: refused. */
export const JOB_LIST_DEFAULT = 20;
export const JOB_LIST_MAX = 500;

/** Specification, Limits: capacity of a deployment is below 1000. Beyond: 400. Configurable downwards. */
export const DEPLOYMENT_CAPACITY_MAX = 999;

/** Ours: deployments of a workspace in a region. Beyond: refused. Each is a label of the metrics, and known to every process. */
export const DEPLOYMENTS_MAX = 100;

/** wire.md E8.1: characters of a deployment's suffix. Beyond: 400. */
export const DEPLOYMENT_SUFFIX_CHARACTERS_MAX = 8;

/** Ours: characters of the model's name that one is made of. Beyond: there is no such model. A name has to fit into a path. */
export const DEPLOYMENT_MODEL_CHARACTERS_MAX = 128;

/** Ours: characters of what a deployment is called for people, and of other words that are kept as they came. Beyond: 400. */
export const DEPLOYMENT_TEXT_CHARACTERS_MAX = 128;

/** Ours: tokens or requests per minute that may be reserved or allowed. Beyond: 400. */
export const DEPLOYMENT_PER_MINUTE_MAX = 1_000_000_000;

/** Ours: tokens of the shortest and of the longest context that a deployment may ask for. Beyond: 400. */
export const DEPLOYMENT_CONTEXT_TOKENS_MIN = 256;
export const DEPLOYMENT_CONTEXT_TOKENS_MAX = 1_048_576;

/** Ours: events kept of a deployment. Beyond: the oldest go; the log has them. */
export const DEPLOYMENT_EVENTS_MAX = 200;

/** Ours: characters of why something happened to a deployment. Beyond: cut. */
export const DEPLOYMENT_REASON_CHARACTERS_MAX = 500;

/** Ours: ms between looks of those who follow a deployment, for what other processes did to it. */
export const DEPLOYMENT_LOOK_MS = 1_000;

/** Ours: ms between looks of each process for what others did to deployments: calls go by a picture of them. */
export const DEPLOYMENT_PICTURE_MS = 500;

/** Ours: deployments whose use per minute is counted. Beyond: the one that was unused for longest begins anew. */
export const QUOTAS_MAX = 10_000;

/** Ours: seconds that a caller is told to wait at most for what is counted per minute; also where it never comes. */
export const QUOTA_RETRY_SECONDS_MAX = 600;

/** Ours: requests that are known to be counted already, so that several runs of one count once. Beyond: counted again. */
export const QUOTA_REQUESTS_MAX = 10_000;

/** Ours: ms for which a worker gathers what its answers use, before it tells the process that counts for all. */
export const QUOTA_TELL_MS = 100;

/** Ours: deployments that metrics tell one by one. Beyond: together, as `other`. */
export const DEPLOYMENT_SERIES_MAX = 1_000;

/** Ours: names that chance is asked for, where one is taken. Beyond: refused as taken. */
export const DEPLOYMENT_NAME_TRIES = 5;

/** Ours, in ms: how long calls go on when a deployment was scaled or deleted. Beyond: broken off. Configurable. */
export const DEPLOYMENT_DRAIN_MS = 600_000;
export const DEPLOYMENT_DRAIN_MS_MAX = 86_400_000;

/** Ours, in ms: a unit of a deployment has to give its first token within this. Beyond: it is not ready. */
export const DEPLOYMENT_PROBE_MS_MAX = 60_000;

/** Ours, in ms: when as many servers elsewhere as are wanted have answered, the others have this long. Beyond: they are not used. */
export const DEPLOYMENT_SERVERS_MOMENT_MS = 2_000;

/** Ours, in ms: an engine that starts is waited for as long. Beyond: it is asked for its token, and fails. Large models load for minutes. */
export const DEPLOYMENT_START_MS_MAX = 1_800_000;

/** Ours, in ms: between looks at whether the engines of deployments are there. `ready_capacity` is older by no more than that. */
export const DEPLOYMENT_MONITOR_MS = 1_000;

/** Ours, in ms: until more of what the machine did not hold is tried again, as long as it is wanted. */
export const DEPLOYMENT_AGAIN_MS = 30_000;

/** Ours, in ms: between looks at whether the last call of a deployment that goes has ended. */
export const DEPLOYMENT_ENDING_LOOK_MS = 1_000;

/** Ours, in ms: between tries of a deployment that does not come up: the first, and the most. Five tries are a good minute. */
export const DEPLOYMENT_RETRY_MS_MIN = 5_000;
export const DEPLOYMENT_RETRY_MS_MAX = 60_000;

/** Ours: deployments that one process brings about at a time. Beyond: they wait. Most of it is waiting for engines. */
export const DEPLOYMENTS_AT_ONCE = 8;

/**
 * Ours, in ms: how long one of those has its place. Beyond: its engines go on to start, and another one's turn comes, which may
 * be nothing but a delete. Large models load for minutes.
 */
export const DEPLOYMENT_TURN_MS = 20_000;

/** Ours, in s: when callers of a deployment that is not there yet should come again. */
export const DEPLOYMENT_RETRY_SECONDS = 5;

/** Of the engine's library: sequences of one context. Beyond: the deployment has fewer units. */
export const DEPLOYMENT_SEQUENCES_MAX = 256;

/** Ours: server programs of one deployment on one machine. Beyond: it has fewer units. */
export const DEPLOYMENT_PROGRAMS_MAX = 64;

/** Ours, in bytes: memory that deployments leave to everything else. Beyond: they have fewer units. */
export const DEPLOYMENT_MEMORY_RESERVE_BYTES = 512 * 2 ** 20;
/** Ours: of a large machine, this part of its memory. */
export const DEPLOYMENT_MEMORY_RESERVE_PART = 0.1;

/**
 * Measured, in bytes, and a half more: what an engine process takes beside weights and contexts (300 to 405 MiB with a
 * vocabulary of 49 000 or 152 000), and what each unit adds to its context (1 to 3 MiB).
 */
export const DEPLOYMENT_ENGINE_BYTES = 512 * 2 ** 20;
export const DEPLOYMENT_UNIT_BYTES = 4 * 2 ** 20;
/** Ours: times that reading a document may fail for reasons that are not its own. Beyond: its status is error. */
export const EXTRACT_TRIES = 3;

/** Ours: texts of documents that came with a request which are kept for the next one, and their bytes. Beyond: the one unused for longest is read again. */
export const DOCUMENTS_KEPT_MAX = 32;
export const DOCUMENTS_KEPT_BYTES_MAX = 32 * 1024 * 1024;

/** wire.md 10, in ms: tasks are kept for a day; here after their end. */
export const TASK_KEPT_MS = 86_400_000;

/** Ours, in ms: between looks for past tasks; and how many are removed at a time. */
export const TASK_LOOK_MS = 600_000;
export const TASK_SWEEP_PAGE_MAX = 100;

/** wire.md E7.2: audios of one transcription, and bytes and ms of one of them. Beyond: 400; a failed part of the task. */
export const TRANSCRIPTION_FILES_MAX = 100;
export const TRANSCRIPTION_BYTES_MAX = 2_147_483_648;

/** Ours, in ms: an audio has to come in within this. Beyond: it cannot be downloaded. */
export const TRANSCRIPTION_FETCH_MS_MAX = 1_800_000;

/** Ours: how often an audio is asked for whose server fails; and the ms between two tries. */
export const TRANSCRIPTION_FETCH_TRIES = 3;
export const TRANSCRIPTION_FETCH_PAUSE_MS = 2_000;

/** wire.md E7.2: seconds for which the address of a result is good. */
export const TRANSCRIPTION_URL_SECONDS = 86_400;

/** Ours: transcriptions that one process works at. Beyond: they wait. The engine has one place for all. */
export const TRANSCRIPTIONS_AT_ONCE = 2;

/** Ours: channels of an audio that are heard by themselves. Beyond: 400. */
export const TRANSCRIPTION_CHANNELS_MAX = 8;

/** Ours, in ms: silence between words that ends a sentence of a file. */
export const SENTENCE_PAUSE_MS = 1_300;

/** Ours: characters of what a model is told before it hears. Beyond: 400. It takes far fewer, the last ones. */
export const TRANSCRIPTION_PROMPT_CHARACTERS_MAX = 10_000;
/** wire.md E7.3: ms without audio of a realtime recognition that asked for no heartbeat. Beyond: task-failed. */
export const REALTIME_SILENCE_MS_MAX = 23_000;

/** Ours: ms without a word of ours after which a realtime recognition that asked for a heartbeat gets one. */
export const REALTIME_HEARTBEAT_MS = 10_000;

/** Ours: ms of one realtime recognition, however it is spent. Beyond: task-failed. */
export const REALTIME_TASK_MS_MAX = 4 * 3_600_000;

/** Issue 10/12: ms of audio after which somebody who speaks on is told what was heard so far. */
export const REALTIME_PARTIAL_MS = 3_000;

/** Ours: ms of audio that nobody has listened to yet. Beyond: nothing more is read from the connection until it is less. */
export const REALTIME_BACKLOG_MS_MAX = 60_000;

/** Ours: bytes of one message, as JSON and as audio. Beyond: task-failed. Clients send 12,800 bytes of audio at once. */
export const REALTIME_TEXT_BYTES_MAX = 256 * 1024;
export const REALTIME_AUDIO_BYTES_MAX = 1024 * 1024;

/** wire.md E7.3: samples a second of audio that is recognised. Beyond: task-failed. */
export const REALTIME_RATE_MIN = 8_000;
export const REALTIME_RATE_MAX = 48_000;

/** wire.md E7.3: ms of silence that end a sentence. Beyond: task-failed. */
export const SENTENCE_SILENCE_MS_MIN = 200;
export const SENTENCE_SILENCE_MS_MAX = 6_000;
export const SENTENCE_SILENCE_MS_DEFAULT = 1_300;

/** wire.md E7.1: words of a list that recognition is to expect, as it comes with a recognition. Beyond: task-failed. */
export const REALTIME_HOTWORDS_MAX = 500;

/** Ours: Unicode code points of such a word that comes with a recognition. Beyond: refused. */
export const REALTIME_HOTWORD_CODE_POINTS_MAX = 100;

/** Ours: languages that one recognition may name. Beyond: refused. */
export const LANGUAGE_HINTS_MAX = 20;

/** Ours: bytes of a message on a websocket. Beyond: the connection is closed with 1009. */
export const SOCKET_MESSAGE_BYTES_MAX = 4 * 1024 * 1024;

/** Ours: bytes that wait for a peer who does not read. Beyond: it is cut off. */
export const SOCKET_SEND_BYTES_MAX = 1024 * 1024;

/** Ours: ms that a websocket may be open with nothing to do. Beyond: it is closed with 1000. */
export const SOCKET_IDLE_MS_MAX = 300_000;

/** Ours: websockets of a process. Beyond: 503; 429 for a key that has half of them. */
export const SOCKETS_MAX = 1_000;

/** decisions.md: ms until a key that was revoked is out of force, on a websocket that works. */
export const SOCKET_KEY_LOOK_MS = 5_000;

/** Ours: ms between signs of life to a peer of whom nothing is read for a while. Clients give up after 15 s. */
export const SOCKET_PONG_MS = 5_000;

/** wire.md E7.2: bytes of one recording, and hours of it. Beyond: it is refused, with the limit; so too all that follow. */
export const AUDIO_BYTES_MAX = 2 * 1024 ** 3;
export const AUDIO_SECONDS_MAX = 12 * 3_600;

/** Ours: channels of a recording, and the sampling rates, in Hz, that it may have. */
export const AUDIO_CHANNELS_MAX = 32;
export const AUDIO_RATE_MIN = 4_000;
export const AUDIO_RATE_MAX = 384_000;

/** Ours: bytes of one packet or frame inside a recording. */
export const AUDIO_PACKET_BYTES_MAX = 1024 * 1024;

/** Ours: bytes of the index of an MP4 file: 12 hours in the smallest frames take a tenth of it. */
export const AUDIO_INDEX_BYTES_MAX = 64 * 1024 * 1024;

/**
 * Ours: ms of the processor for decoding a recording: a basis, a part of what its sound lasts, and so many for each MiB of it.
 * Decoding takes a fiftieth of what sound lasts.
 */
export const AUDIO_DECODE_MS_BASE = 20_000;
export const AUDIO_DECODE_MS_PER_SECOND = 150;
export const AUDIO_DECODE_MS_PER_MIB = 500;

/** Ours: ms by the clock in which the process that decodes neither takes bytes nor gives sound, though both are waited for. */
export const AUDIO_STALL_MS = 120_000;

/** Ours: megabytes of JavaScript heap, and bytes of memory in all, of the process that decodes one. */
export const AUDIO_HEAP_MB = 256;
export const AUDIO_RESIDENT_BYTES_MAX = 512 * 1024 * 1024;

/** Ours: recordings that are decoded at once by a process of the service, and those that may wait for it. Beyond: 503. */
export const AUDIOS_AT_ONCE = 4;
export const AUDIOS_WAITING_MAX = 128;

/** Ours: bytes of a call to the process that hears speech. Beyond: 400. Half a minute of samples, and 500 hotwords with their context. */
export const SPEECH_CALL_BYTES_MAX = 4 * 1024 * 1024;

/** all-MiniLM-L6-v2's own: tokens of a text, its frame included, that it was trained for. Beyond: 400. */
export const SMALL_VECTOR_TOKENS_MAX = 512;

/** Ours, in ms: what a search has in all, and one provider of it. Beyond: it counts as failed, and the others go on. */
export const SEARCH_MS_MAX = 20_000;
export const SEARCH_PROVIDER_MS_MAX = 8_000;

/** Ours, in s: how long a provider that said to come again later is left alone at most. */
export const SEARCH_REST_SECONDS_MAX = 300;

/** Ours: results that are taken from one provider. Beyond: dropped. */
export const SEARCH_PROVIDER_RESULTS_MAX = 50;

/** Ours: pages of results that one provider is asked for with one query. */
export const SEARCH_PROVIDER_PAGES_MAX = 3;

/** Ours: bytes of one answer of a provider. Beyond: it has failed. */
export const SEARCH_ANSWER_BYTES_MAX = 4 * 1024 * 1024;

/** Ours: characters of a query, a title, a site's name, a passage and an address of a result. Beyond: cut; an address is dropped, its result too. */
export const SEARCH_QUERY_CHARS_MAX = 400;
export const SEARCH_TITLE_CHARS_MAX = 300;
export const SEARCH_SITE_NAME_CHARS_MAX = 100;
export const SEARCH_PASSAGE_CHARS_MAX = 4_000;
export const SEARCH_URL_CHARS_MAX = 2_048;

/** Ours: characters of what a provider of a domain says, and how many such texts one provider has. Beyond: cut, dropped. */
export const SEARCH_FINDING_CHARS_MAX = 4_000;
export const SEARCH_FINDINGS_MAX = 5;

/** Of reciprocal rank fusion as it was published: the larger, the less the first places count. */
export const SEARCH_FUSION_K = 60;

/** Ours: bytes of a page. Configurable. Beyond: it cannot be read. */
export const PAGE_BYTES_MAX = 5 * 1024 * 1024;

/** Ours: characters of what is read out of a page. Configurable. Beyond: cut. */
export const PAGE_TEXT_CHARS_MAX = 40_000;

/** Ours, in ms: a page has to come in within this, and its site's robots rules within that. Beyond: it cannot be read. */
export const PAGE_FETCH_MS_MAX = 15_000;
export const ROBOTS_FETCH_MS_MAX = 8_000;

/** Ours: ms of the processor, and megabytes of JavaScript heap, to make text of a page. Beyond: it cannot be read. */
export const PAGE_READ_MS_MAX = 5_000;
export const PAGE_READ_HEAP_MB = 256;

/** Ours: bytes of memory in all of the process that reads pages, and ms after its last page for which it is kept. Beyond: it is ended. */
export const PAGE_READ_RESIDENT_BYTES_MAX = 768 * 1024 * 1024;
export const PAGE_READ_IDLE_MS = 60_000;

/** Ours: elements of a page, also inside each other. Beyond: no article is looked for in it, and all its text is read. Long articles have 10 000. */
export const PAGE_ELEMENTS_MAX = 30_000;
export const PAGE_DEPTH_MAX = 500;

/** Ours: pages that may wait for one another to be read, and for a host. Beyond: overloaded. */
export const PAGES_WAITING_MAX = 64;
export const PAGES_WAITING_PER_HOST_MAX = 16;

/** Ours: pages of one host that are fetched at once, and ms between two beginnings; what its rules wish beyond that counts up to so many. */
export const PAGES_PER_HOST_MAX = 2;
export const PAGE_HOST_GAP_MS = 500;
export const PAGE_HOST_GAP_MS_MAX = 5_000;

/** RFC 9309, 2.5: bytes of robots rules that are read; it asks for 500 KiB at least. Beyond: not looked at. */
export const ROBOTS_BYTES_MAX = 512 * 1024;

/** RFC 9309, 2.4: no rules older than a day, in ms. Ours: those of a site that cannot be reached are asked for again after this. */
export const ROBOTS_KEPT_MS = 86_400_000;
export const ROBOTS_UNREACHABLE_KEPT_MS = 60_000;

/** Ours: sites whose robots rules are kept, and their characters in all. Beyond: the one unused for longest is asked again. */
export const ROBOTS_KEPT_MAX = 1_000;
export const ROBOTS_KEPT_CHARS_MAX = 16 * 1024 * 1024;

/** Ours, in ms: reading one page in all, with waiting for its host and for its rules. Beyond: timeout. */
export const PAGE_MS_MAX = 30_000;

/** Ours: rules of style sheets within a page that are looked through for what hides texts. Beyond: not looked at. */
export const PAGE_STYLE_RULES_MAX = 2_000;
/** Ours: words of a passage of the local index, and characters. Beyond: the text goes on in the next one. */
export const INDEX_PASSAGE_WORDS = 200;
export const INDEX_PASSAGE_CHARS_MAX = 1_600;

/** Ours: characters of a term of the local index. Beyond: those decide. */
export const INDEX_TERM_CHARS_MAX = 40;

/** Ours: passages of one document in the local index, about 400,000 words. Beyond: it is left out, and the operator told. */
export const INDEX_DOCUMENT_PASSAGES_MAX = 2_000;

/** Ours: documents of a collection of the local index. Beyond: the rest is left out, and the operator told. */
export const INDEX_DOCUMENTS_MAX = 100_000;

/** Ours: folders inside each other that are gone through. Beyond: they are left out, and the operator told. */
export const INDEX_FOLDER_DEPTH_MAX = 32;

/** Ours: addresses and paths of one collection, and bytes of a file that lists addresses. Beyond: refused. */
export const INDEX_SOURCES_MAX = 1_000;
export const INDEX_URL_FILE_BYTES_MAX = 1024 * 1024;

/** Ours: terms of a question to the local index. Beyond: the first ones are asked for. */
export const INDEX_QUESTION_TERMS_MAX = 32;

/** Ours: characters of a question to the local index that are read. */
export const INDEX_QUESTION_CHARS_MAX = 2_000;

/** Ours: documents that each way of looking brings before they are put together. */
export const INDEX_CANDIDATES = 50;

/** Ours: bytes of vectors that one question is compared with: 50,000 passages of 384 components. Beyond: those of the oldest documents. */
export const INDEX_VECTOR_BYTES_MAX = 50_000 * 384;

/** Ours: documents of the local index that are read at once, and problems of a refresh that are told one by one. */
export const INDEX_READ_AT_ONCE = 2;
export const INDEX_PROBLEMS_TOLD_MAX = 1_000;

/** Ours: characters of a title in the local index. Beyond: cut. */
export const INDEX_TITLE_CHARS_MAX = 200;

/** Ours: of all that a question asks for, weighed by how rare it is, so much a passage has. Less: it is no answer. */
export const INDEX_COVERAGE_MIN = 0.3;

/** Ours: cosine of a question and a passage. Less: they have nothing to do with each other, as far as small models tell. */
export const INDEX_SIMILARITY_MIN = 0.35;

/** Ours: bytes of a plain text that is decoded without a process of its own. */
export const QUICK_DOCUMENT_BYTES_MAX = 1024 * 1024;

/** Ours: part of all passages of the local index that a word of a question may stand in to be looked for, from so many passages on. */
export const INDEX_COMMON_TERM_PART = 0.2;
export const INDEX_COMMON_TERMS_PASSAGES_MIN = 1_000;
/** wire.md 1.5: hosts that a search may be kept to or from. Beyond: 400. */
export const SEARCH_SITES_MAX = 25;

/** Ours: code points of what a caller says about when and for what to search. Beyond: 400. */
export const SEARCH_HINT_CODE_POINTS_MAX = 2_000;

/** Ours: uses of a server tool that a caller may allow for one answer. Beyond: 400. */
export const SERVER_TOOL_USES_MAX = 1_000;

/** The messages interface's own: characters of what a citation repeats of its source. Longer: cut. */
export const CITED_TEXT_CHARACTERS_MAX = 150;

/** Ours: characters of a source that an answer's sentences are compared with. Beyond: what is said there counts as not said. */
export const CITATION_SOURCE_CHARS_MAX = 60_000;

/** Ours: characters of a source's sentence that are told as cited. Beyond: it is cut. */
export const CITATION_QUOTE_CHARS_MAX = 300;

/** Ours: characters of an answer's sentence that are held back to see what it cites. Beyond: it counts as two. */
export const CITED_SENTENCE_CHARS_MAX = 2_000;

/** Specification, E4: tokens of a report by the model's own tokenizer, and between which they stay: 15 % around, a summary 1,500 to 2,000. */
export const RESEARCH_REPORT_TOKENS = {
  detailed: { wished: 6_000, min: 5_100, max: 6_900 },
  summary: { wished: 1_750, min: 1_500, max: 2_000 },
} as const;

/** Ours: queries that a plan has, one for each part of the report. Beyond: left out; what the budget leaves goes where little was found. */
export const RESEARCH_PLAN_QUERIES_MAX = { detailed: 8, summary: 4 } as const;

/** Ours: results that one query is asked for, and pages that are read for it. Beyond: left for others. */
export const RESEARCH_RESULTS_MAX = 16;
export const RESEARCH_QUERY_PAGES_MAX = 4;

/** Ours: pages whose text a run remembers for other queries that find them. Beyond: the one not used for longest is read again. */
export const RESEARCH_REMEMBERED_PAGES_MAX = 32;

/** Ours: ms for one search and one page. Beyond: they failed. */
export const RESEARCH_SEARCH_MS_MAX = 30_000;
export const RESEARCH_PAGE_MS_MAX = 30_000;

/** Ours: notes that are kept of one query, of one site for it, and that are told as learned. Beyond: the worse ones are left out. */
export const RESEARCH_QUERY_NOTES_MAX = 96;
export const RESEARCH_SITE_NOTES_MAX = 40;
export const RESEARCH_LEARNED_NOTES_MAX = 24;

/** Ours: characters that are kept of where a note stands. Beyond: its paragraph is cut around it. */
export const RESEARCH_CONTEXT_CHARS_MAX = 1_200;

/** Ours: characters of a sentence of a source that a report may hold; of writing without blanks a third of them. Beyond: it is none. */
export const RESEARCH_SENTENCE_CHARS_MAX = 360;

/** Ours: characters of what the user says that a plan is made from, and of a report's title, a heading and a goal. Beyond: cut. */
export const RESEARCH_TOPIC_CHARS_MAX = 1_200;
export const RESEARCH_TITLE_CHARS_MAX = 80;
export const RESEARCH_HEADING_CHARS_MAX = 60;
export const RESEARCH_GOAL_CHARS_MAX = 160;

/** Ours: tokens of the question that is asked back, of a plan and of one paragraph. Beyond: cut there. */
export const RESEARCH_QUESTION_TOKENS_MAX = 200;
export const RESEARCH_PLAN_TOKENS_MAX = 1_200;
export const RESEARCH_PARAGRAPH_TOKENS_MAX = 320;

/**
 * Ours: searches, pages and programs that one answer takes at most, whatever it wishes for. Beyond: the model answers with what
 * it has.
 */
export const ANSWER_SEARCHES_MAX = 8;
export const ANSWER_PAGES_MAX = 6;
export const ANSWER_PROGRAMS_MAX = 12;

/** Ours: queries that are asked for one question at once. */
export const ANSWER_QUERIES_MAX = 3;

/** Ours: rounds of search, look and decision. Beyond: the model answers with what it has. */
export const ANSWER_SEARCH_ROUNDS_MAX = 4;

/** Ours: characters of a query. Beyond: it is cut. */
export const ANSWER_QUERY_CHARS_MAX = 300;

/** Ours: results of one query, and sources of one answer. Beyond: the worse ones are left out. */
export const ANSWER_RESULTS_MAX = 8;
export const ANSWER_SOURCES_MAX = 20;

/** Ours: characters of the prompt that all sources take, one of them, and one page that was read whole. Beyond: they are cut. */
export const TOLD_SOURCES_CHARS_MAX = 24_000;
export const TOLD_SOURCE_CHARS_MAX = 2_000;
export const TOLD_PAGE_CHARS_MAX = 6_000;

/** Ours: what a provider of a domain says: characters of one finding, and findings. Beyond: cut, and left out. */
export const TOLD_FINDING_CHARS_MAX = 1_000;
export const TOLD_FINDINGS_MAX = 5;

/** Ours: characters of a conversation that a decision about tools is made on: the question, and what was said before it. */
export const DECISION_QUESTION_CHARS_MAX = 1_500;
export const DECISION_HISTORY_CHARS_MAX = 1_200;

/** Ours: characters of sources that a decision is made on. */
export const DECISION_SOURCES_CHARS_MAX = 2_400;

/** Ours: tokens of such a decision. Beyond: it counts as none. */
export const DECISION_TOKENS_MAX = 200;

/** Ours: ms for one search and one page. Beyond: they failed. */
export const ANSWER_SEARCH_MS_MAX = 20_000;
export const ANSWER_PAGE_MS_MAX = 30_000;

/** Ours: ms from a request's beginning in which tools may begin or go on. Beyond: the model answers with what it has. */
export const ANSWER_TOOLS_MS_MAX = 180_000;

/** Ours: bytes of a program that a model writes. Beyond: it is not run. */
export const PROGRAM_BYTES_MAX = 64 * 1024;

/** Ours: characters of a program's output that the model reads. Beyond: the middle is left out. */
export const PROGRAM_TOLD_CHARS_MAX = 4_000;

/** Ours: the same where the context has no room for that. */
export const PROGRAM_TOLD_CHARS_MIN = 400;

/** Ours: ms for which a container with nothing to do keeps its variables and files. Beyond: it is closed. */
export const CODE_CONTAINER_IDLE_MS = 20 * 60_000;

/** Ours: containers of a process of the service, and what may be configured. Beyond: one with nothing to do is closed, else 503. */
export const CODE_CONTAINERS_MAX = 8;
export const CODE_CONTAINERS_MOST = 256;

/** Ours: MiB that programs of a container have, and what may be configured. Beyond: MemoryError, or the container ends. */
export const CODE_MEMORY_MB = 512;
export const CODE_MEMORY_MB_MIN = 64;
export const CODE_MEMORY_MB_MAX = 2_048;

/** Ours: seconds that one program may take by the clock, and what may be configured. Beyond: its container ends. */
export const CODE_SECONDS = 30;
export const CODE_SECONDS_MAX = 3_600;

/** Ours: programs of full length whose processor time a container has in its life. Beyond: it ends. */
export const CODE_CPU_PROGRAMS = 40;

/** Ours: ms for a container to get ready. Beyond: 503. It takes half a second, and longer with many wheels. */
export const CODE_START_MS_MAX = 60_000;

/**
 * Ours: ms from a trial of the sandbox that took too long to the next. Beyond: the interpreter stays off, and whoever needs it
 * makes the next one begin, the last of these after the one before.
 */
export const CODE_TRIAL_PAUSES_MS = [5_000, 30_000, 120_000, 600_000] as const;

/** Ours: bytes of one program. Beyond: 400. */
export const CODE_PROGRAM_BYTES_MAX = 1024 * 1024;

/** Ours: bytes that come back of stdout, and as many of stderr. Beyond: cut. */
export const CODE_OUTPUT_BYTES_MAX = 256 * 1024;

/** Ours: characters of the last expression's value and of an error. Beyond: cut. */
export const CODE_TEXT_CHARACTERS_MAX = 64 * 1024;

/** Ours: files that come back from one program, and bytes of all of them. Beyond: the others are left out. */
export const CODE_FILES_MAX = 16;
export const CODE_FILES_BYTES_MAX = 16 * 1024 * 1024;

/** Ours: files that programs of a container may read, and bytes of all of them. Beyond: 400. They are in its memory. */
export const CODE_INPUTS_MAX = 32;
export const CODE_INPUTS_BYTES_MAX = 64 * 1024 * 1024;

/** Issue 12/12: ms for which a run of deep research goes on, or its end waits, without a reader. Beyond: it is cancelled. */
export const RESEARCH_ATTACH_MS = 60_000;

/** Ours: ms between signs of life of its readers; one whose process is killed has left by so much too early. */
export const RESEARCH_SIGN_MS = 2_000;

/** Ours: ms between looks of whoever works at a run: for its readers, its key, its deadline, its end. */
export const RESEARCH_WATCH_MS = 1_000;

/** Ours: ms between looks of a reader for steps that another process writes, and steps that are read at once. */
export const RESEARCH_LOOK_MS = 250;
export const RESEARCH_STEPS_PAGE_MAX = 32;

/** Ours: characters of one step, as JSON. Beyond: the run fails. */
export const RESEARCH_STEP_CHARS_MAX = 8 * 1024 * 1024;

/** Ours: of these runs, how many one process works at. Beyond: they wait. */
export const RESEARCH_AT_ONCE = 8;

/** Ours: ms beyond its budget of minutes in which a run has to write its report. Beyond: it fails. */
export const RESEARCH_SLACK_MS = 30 * 60_000;

/**
 * Ours: how long, in ms from the last step that was made, one is tried again that was refused for now, as where a queue is full.
 * Beyond: the run fails with that refusal.
 */
export const RESEARCH_WAIT_MS = 120_000;

/** Ours: ms before such a step is tried again, at first and at most; doubles with each refusal in a row. */
export const RESEARCH_RETRY_MS_MIN = 1_000;
export const RESEARCH_RETRY_MS_MAX = 15_000;

/** Ours: ms after its end, and after its last reader, for which a run is kept. Beyond: it is removed. */
export const RESEARCH_KEPT_MS = 10 * 60_000;

/** Ours: ms between looks for runs without a reader and for those that are kept no longer; how many of each at once. */
export const RESEARCH_SWEEP_MS = 5_000;
export const RESEARCH_SWEEP_PAGE_MAX = 50;

/** Ours: what a run of deep research may spend where nothing is configured, and what may be configured. */
export const RESEARCH_QUERIES = 10;
export const RESEARCH_QUERIES_MAX = 100;
export const RESEARCH_PAGES = 20;
export const RESEARCH_PAGES_MAX = 1_000;
export const RESEARCH_TOKENS = 200_000;
export const RESEARCH_TOKENS_MAX = 100_000_000;
export const RESEARCH_MINUTES = 30;
export const RESEARCH_MINUTES_MAX = 1_440;

/** Ours: runs of a key, and of a workspace in a region, that have not ended, where nothing is configured. Beyond: 429. */
export const RESEARCH_RUNS_OF_KEY = 2;
export const RESEARCH_RUNS_OF_WORKSPACE = 4;
