/**
 * Limits of this folder. Each name contains the unit; each comment says what happens beyond the limit and where the
 * value comes from. `src/core/limits.ts` has those of several modules; docs/limits.md lists all.
 */

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

/**
 * Bytes per second that the reader of a stream must take while the service waits for it, of all that was written. Beyond: the
 * stream is cut when it has waited for READER_STALL_MS_MAX longer than that. A fifth of what a fast model sends.
 */
export const STREAM_READ_BYTES_PER_SECOND_MIN = 4 * 1024;

/** Characters of a stream that are written at once. Beyond: written when its reader has taken these. */
export const STREAM_SLICE_CHARS = 64 * 1024;

/** Characters of one path parameter. Beyond: 404. */
export const PATH_PARAMETER_CHARS_MAX = 512;

/** Ms between the abort of the last requests at shutdown and the closing of their connections. */
export const ABORT_GRACE_MS = 1_000;

/** Ms for an aborted stream to report its token usage. Beyond: the log line omits the usage. */
export const ABORTED_USAGE_WAIT_MS_MAX = 500;

/** Files in one upload; as many as a workspace may have. Beyond: 400. */
export const UPLOAD_FILES_MAX = 100;

/** Text fields in one upload: a description for each file, and a few more. Beyond: 400. */
export const UPLOAD_FIELDS_MAX = 150;

/** Bytes of a text field of an upload. Beyond: 400. */
export const UPLOAD_FIELD_BYTES_MAX = 16 * 1024;

/** Bytes of the headers of one part of an upload. Beyond: 400. */
export const UPLOAD_PART_HEADER_BYTES_MAX = 16 * 1024;

/** Ms without data from an upload. Beyond: 408. */
export const UPLOAD_STALL_MS = 60_000;

/** Ms for a whole upload or download: a gigabyte at 400 kbit/s. Beyond: it is aborted. */
export const TRANSFER_MS_MAX = 6 * 3_600_000;

/**
 * Bytes of a JSON request body above which it is parsed in turn, and needs memory of BODIES_BYTES_MAX before it is read:
 * smaller ones take at most a few ms, and no more memory than their connection.
 */
export const LARGE_BODY_BYTES = 64 * 1024;

/**
 * Bytes of large JSON request bodies that a process holds at once, each from its first byte until it is parsed; one of
 * unknown length counts as the longest. 16 bodies of the maximum size. Beyond: requests wait, and their bodies are not
 * read; 503 after QUEUE_WAIT_MS_MAX, or with QUEUE_LENGTH_MAX waiting.
 */
export const BODIES_BYTES_MAX = 256 * 1024 * 1024;

/** The same for one workspace in one region. Beyond: its requests wait; 429 while half of the queue is theirs. */
export const WORKSPACE_BODIES_BYTES_MAX = 64 * 1024 * 1024;

/**
 * Share of BODIES_BYTES_MAX that is left to workspaces with at most JSON_BODY_BYTES_MAX in it, which are served first.
 * Chosen: four bodies of the maximum size. Beyond: requests of workspaces with more wait.
 */
export const BODIES_RESERVE_SHARE = 0.25;

/**
 * Bytes of a websocket message: the longest that any endpoint accepts. Beyond: the session ends with an error. A message above
 * LARGE_BODY_BYTES takes this much of BODIES_BYTES_MAX while it arrives, which may take REQUEST_RECEIVE_MS_MAX. Beyond: the
 * connection is closed.
 */
export const SOCKET_MESSAGE_BYTES_MAX = 1024 * 1024;

/** Bytes that a frame of a websocket may announce, and fragments have together. Beyond: the connection is closed with 1009. */
export const SOCKET_FRAME_BYTES_MAX = 4 * 1024 * 1024;

/** Bytes that wait for a client that does not read. Beyond: the connection is cut. */
export const SOCKET_SEND_BYTES_MAX = 1024 * 1024;

/** Websockets of one process. Beyond: 503. One key may use half of them. Beyond: 429. */
export const SOCKETS_MAX = 1_000;

/** Ms between pongs to a client that is not being read; clients give up after 15 s. */
export const SOCKET_PONG_MS = 5_000;

/**
 * Requests that wait on one connection for the answer to an earlier one, and their bytes. Parley's choice: client libraries
 * send a request after the answer to the one before. Beyond, and for a body of unknown length or a websocket handshake: the
 * connection is not read until the requests before are answered.
 */
export const PIPELINED_REQUESTS_MAX = 16;
export const PIPELINED_BYTES_MAX = 64 * 1024;

/**
 * Requests of all connections that start in one turn of the event loop after they waited on their connection. Beyond: they
 * start in later turns, and requests that did not wait go first. 8 of them take about a millisecond.
 */
export const PIPELINED_STARTS_PER_TURN = 8;

/** Ms that a request without a known key waits if its address had too many refusals. */
export const REFUSAL_DELAY_MS = 1_000;

/** Addresses of which connections and refusals are counted. Beyond: the counts of the one not seen for longest are lost. */
export const ADDRESSES_MAX = 10_000;

/** Ms between two warnings in the log that an address has too many connections. */
export const ADDRESS_WARNING_MS = 60_000;
