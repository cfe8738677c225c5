/**
 * Limits of this folder. Each name contains the unit; each comment says what happens beyond the limit and where the
 * value comes from. `src/core/limits.ts` has those of several modules; docs/limits.md lists all.
 */

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
