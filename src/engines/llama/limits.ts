/**
 * Limits of this folder. Each name contains the unit; each comment says what happens beyond the limit and where the
 * value comes from. `src/core/limits.ts` has those of several modules; docs/limits.md lists all.
 */

/**
 * Ms after a live request during which the embedded engine keeps a sequence free for the next one. Afterwards
 * background generations may use all sequences, and the first live request preempts one of them.
 */
export const LIVE_SEQUENCE_RESERVE_MS = 2_000;

/** Every n-th prefill slice of the embedded engine processes a background prompt, even while live prompts wait. */
export const BACKGROUND_SLICE_INTERVAL = 8;

/** Every n-th prefill slice of the embedded engine processes a live prompt, even while reserved prompts wait. */
export const LIVE_SLICE_INTERVAL = 4;

/**
 * Tokens that the embedded engine evaluates at a time in a prompt whose log probabilities are requested. Bounds the memory
 * for their logits (5 MB at 152,000 vocabulary entries) and the time of reading them (13 ms a token there), during which
 * other requests wait. A seeded request keeps its own slices, which have twice the size.
 */
export const PROMPT_LOGPROBS_SLICE_TOKENS = 8;

/** Tokens of a query and one document together, in reranking. They are evaluated in one batch. Beyond: 400. */
export const RERANK_TOKENS_MAX = 2_048;

/** The same for models that must read a text in one batch: memory grows with the square of the length. Beyond: 400. */
export const EMBEDDING_TOKENS_UNSPLIT_MAX = 2_048;

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
 * Bytes of the saved states of interrupted answers in one engine. Beyond: an interrupted answer evaluates its tokens again;
 * one with a seed is not interrupted.
 */
export const PAUSED_STATES_BYTES_MAX = 4 * 1024 * 1024 * 1024;

/**
 * Entries of one workspace's explicit cache. Every marked prompt is compared with all of them. Beyond: evicted as
 * above.
 */
export const EXPLICIT_CACHE_ENTRIES_MAX = 64;

/** Phases of one generation; each of TOOLS_MAX tools takes one or two. Beyond: the engine rejects the request. */
export const PHASES_MAX = 2_000;

/** Triggers of one generation, all phases together. Beyond: the engine rejects the request. */
export const TRIGGERS_MAX = 10_000;

/**
 * Ms of CPU time to sample one token under a grammar. Beyond: the request fails, so that other requests do not wait for
 * it.
 */
export const GRAMMAR_SAMPLE_MS_MAX = 1_000;

/**
 * Usual maximum ms of CPU time per token under a simple grammar. Only the time above it counts towards the next limit.
 */
export const GRAMMAR_SAMPLE_MS_PLAIN = 250;

/**
 * Ms of CPU time above the usual cost for the grammars of a workspace, all its answers together. Beyond: the request
 * fails, because other requests wait for each token.
 */
export const GRAMMAR_SLOW_MS_MAX = 2_000;

/** Share of the elapsed time by which that CPU time decreases again. */
export const GRAMMAR_SLOW_SHARE = 0.1;

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

/**
 * How many times the ms that saving and loading its state took a choice keeps the sequence that it got for it, so that most
 * of the time is left for its work. Beyond: it may be interrupted again.
 */
export const MOVE_TIME_FACTOR = 4;

/**
 * Ms that a choice keeps its sequence after its state could not be saved. Beyond: it is tried again, when others wait. Long
 * enough that failed writes of large states take a small part of the time.
 */
export const SAVE_RETRY_MS = 20_000;

/**
 * Tokens that a choice evaluates again when its state could not be saved and others get its sequence. Beyond: it keeps the
 * sequence for the time above. A batch of the library, which takes a part of the shortest turn.
 */
export const REEVALUATED_TOKENS_MAX = 512;
