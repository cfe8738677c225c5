/**
 * Limits of this folder. Each name contains the unit; each comment says what happens beyond the limit and where the
 * value comes from. `src/core/limits.ts` has those of several modules; docs/limits.md lists all.
 */

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

/** Ms to fetch a page, and to fetch its site's robots.txt. Beyond: reading the page fails. */
export const PAGE_FETCH_MS_MAX = 15_000;
export const ROBOTS_FETCH_MS_MAX = 8_000;
