/**
 * Limits of this folder. Each name contains the unit; each comment says what happens beyond the limit and where the
 * value comes from. `src/core/limits.ts` has those of several modules; docs/limits.md lists all.
 */

/**
 * Maximum searches, pages and programs of one answer, whatever the request allows. Beyond: the model answers with what
 * it has.
 */
export const ANSWER_SEARCHES_MAX = 8;
export const ANSWER_PAGES_MAX = 6;
export const ANSWER_PROGRAMS_MAX = 12;

/** Programs of an answer by a model that is prompted for each. Beyond: it answers with what the last one returned. */
export const PROMPTED_PROGRAMS_MAX = 3;

/** Queries per search. */
export const ANSWER_QUERIES_MAX = 3;

/** Rounds of searching, reading and deciding. Beyond: the model answers with what it has. */
export const ANSWER_SEARCH_ROUNDS_MAX = 4;

/** Characters of a query. Beyond: truncated. */
export const ANSWER_QUERY_CHARS_MAX = 300;

/** Results per query, and sources per answer. Beyond: the least relevant ones are dropped. */
export const ANSWER_RESULTS_MAX = 8;
export const ANSWER_SOURCES_MAX = 20;

/** Characters in the prompt: all sources, one source, and one page that was read. Beyond: truncated. */
export const PROMPT_SOURCES_CHARS_MAX = 24_000;
export const PROMPT_SOURCE_CHARS_MAX = 4_000;
export const PROMPT_PAGE_CHARS_MAX = 6_000;

/**
 * Texts of domain-specific providers in the prompt: characters of one, and their number. Beyond: truncated, dropped.
 */
export const PROMPT_DOMAIN_RESULT_CHARS_MAX = 1_000;
export const PROMPT_DOMAIN_RESULTS_MAX = 5;

/**
 * Characters of the conversation in the prompt for a tool decision: the question, and the messages before it. Beyond:
 * truncated.
 */
export const DECISION_QUESTION_CHARS_MAX = 1_500;
export const DECISION_HISTORY_CHARS_MAX = 1_200;

/** Characters of the sources in this prompt. Beyond: truncated. */
export const DECISION_SOURCES_CHARS_MAX = 2_400;

/** Tokens of a tool decision. Beyond: it counts as no decision. */
export const DECISION_TOKENS_MAX = 200;

/** Ms for one search, and for one page. Beyond: it failed. */
export const ANSWER_SEARCH_MS_MAX = 20_000;
export const ANSWER_PAGE_MS_MAX = 30_000;

/** Ms since the start of a request in which server tools may run. Beyond: the model answers with what it has. */
export const ANSWER_TOOLS_MS_MAX = 180_000;

/** Bytes of a program written by a model. Beyond: it is not run. */
export const PROGRAM_BYTES_MAX = 64 * 1024;

/** Characters of a program's output in the prompt. Beyond: the middle is omitted. */
export const PROMPT_PROGRAM_OUTPUT_CHARS_MAX = 4_000;

/** The same when the context is nearly full. */
export const PROMPT_PROGRAM_OUTPUT_CHARS_MIN = 400;

/**
 * Time in ms that opening a container, or a server that cannot count its prompt, may delay the head of a stream. Beyond:
 * the request counts as accepted, keep-alives start, and a later refusal is reported in the stream. Parley's choice.
 */
export const ACCEPTANCE_MS_MAX = 5_000;
