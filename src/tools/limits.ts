/**
 * Limits of this folder. Each name contains the unit; each comment says what happens beyond the limit and where the
 * value comes from. `src/core/limits.ts` has those of several modules; docs/limits.md lists all.
 */

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
