/**
 * Limits of this folder. Each name contains the unit; each comment says what happens beyond the limit and where the
 * value comes from. `src/core/limits.ts` has those of several modules; docs/limits.md lists all.
 */

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
