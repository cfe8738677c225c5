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

/** Ours: messages in one request. Beyond: 400. Far above any context that is served. */
export const MESSAGES_MAX = 10_000;

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
