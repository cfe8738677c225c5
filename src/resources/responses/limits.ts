/**
 * Limits of this folder. Each name contains the unit; each comment says what happens beyond the limit and where the
 * value comes from. `src/core/limits.ts` has those of several modules; docs/limits.md lists all.
 */

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
