/**
 * Limits of this folder. Each name contains the unit; each comment says what happens beyond the limit and where the
 * value comes from. `src/core/limits.ts` has those of several modules; docs/limits.md lists all.
 */

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

/** Statements per query that a model compares with the question. Beyond: the least similar ones by words are dropped. */
export const RESEARCH_SCORED_STATEMENTS_MAX = 128;

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
