/**
 * Limits of this folder. Each name contains the unit; each comment says what happens beyond the limit and where the
 * value comes from. `src/core/limits.ts` has those of several modules; docs/limits.md lists all.
 */

/** Words and characters of a passage in the local index. Beyond: the text continues in the next passage. */
export const INDEX_PASSAGE_WORDS = 200;
export const INDEX_PASSAGE_CHARS_MAX = 1_600;

/** Characters of a term in the local index. Beyond: only these characters are compared. */
export const INDEX_TERM_CHARS_MAX = 40;

/** Passages of one document in the local index, about 400,000 words. Beyond: the document is skipped and reported. */
export const INDEX_DOCUMENT_PASSAGES_MAX = 2_000;

/** Documents of a collection in the local index. Beyond: the others are skipped and reported. */
export const INDEX_DOCUMENTS_MAX = 100_000;

/** Depth of nested folders that are indexed. Beyond: skipped and reported. */
export const INDEX_FOLDER_DEPTH_MAX = 32;

/** URLs and paths of one collection, and bytes of a file that lists URLs. Beyond: the command fails. */
export const INDEX_SOURCES_MAX = 1_000;
export const INDEX_URL_FILE_BYTES_MAX = 1024 * 1024;

/** Terms of a query to the local index. Beyond: only the first ones are used. */
export const INDEX_QUESTION_TERMS_MAX = 32;

/** Characters of a query to the local index. Beyond: ignored. */
export const INDEX_QUESTION_CHARS_MAX = 2_000;

/** Documents that each search method contributes before the results are merged, and passages of each result. */
export const INDEX_CANDIDATES = 100;
export const INDEX_RESULT_PASSAGES_MAX = 4;

/** Best documents that a reranking model sorts, where one is configured. Beyond: they keep their order behind them. */
export const INDEX_RERANKED_MAX = 16;

/**
 * Words of a passage, its title included, that its vector stands for: small models are made for so much, and a vector of
 * twice as many takes more than twice the time. Beyond: found by words.
 */
export const INDEX_VECTOR_WORDS = 90;

/** Bytes of vectors compared with one query: 100,000 passages of 384 dimensions. Beyond: words alone decide. */
export const INDEX_VECTOR_BYTES_MAX = 100_000 * 384;

/**
 * Documents, and passages of them, that are stored in one transaction, about 0.1 s of writing; ms that the first of them
 * waits for others; and words whose terms are remembered. Beyond: the next transaction; all are forgotten.
 */
export const INDEX_BATCH_DOCUMENTS_MAX = 16;
export const INDEX_BATCH_PASSAGES_MAX = 400;
export const INDEX_BATCH_MS_MAX = 500;
export const INDEX_TERM_CACHE_ENTRIES_MAX = 50_000;

/** Documents that are indexed concurrently, and problems of a refresh that are listed individually. */
export const INDEX_READ_CONCURRENCY = 2;
export const INDEX_PROBLEMS_LISTED_MAX = 1_000;

/** How often the terms of a title, and of the headings around and in a passage, count beside those of its text. */
export const INDEX_TITLE_WEIGHT = 3;
export const INDEX_HEADING_WEIGHT = 2;

/**
 * Weights of the shares that the score of a document is made of (`scoreCandidates`). Chosen by measurement: see
 * docs/decisions/0062-ranking.md.
 */
export const INDEX_WORDS_WEIGHT = 1;
export const INDEX_MEANING_WEIGHT = 1;
export const INDEX_LEAD_MEANING_WEIGHT = 0.5;
export const INDEX_COVERAGE_WEIGHT = 1;
export const INDEX_TITLE_COVERAGE_WEIGHT = 0.4;
export const INDEX_HEADING_COVERAGE_WEIGHT = 0.3;
export const INDEX_LEAD_COVERAGE_WEIGHT = 0.4;

/** Loss of the score with each doubling of a document's length. */
export const INDEX_LENGTH_PENALTY = 0.04;

/** Characters of a title in the local index. Beyond: truncated. */
export const INDEX_TITLE_CHARS_MAX = 200;

/** Minimum share of the query's terms, weighted by rarity, that a passage must contain. Below: not a result. */
export const INDEX_COVERAGE_MIN = 0.3;

/** Minimum cosine similarity of a query and a passage. Below: unrelated, as far as small models can tell. */
export const INDEX_SIMILARITY_MIN = 0.35;

/**
 * Share of all passages above which a query term is too common to be used, in an index with at least this many
 * passages.
 */
export const INDEX_COMMON_TERM_SHARE = 0.2;
export const INDEX_COMMON_TERMS_PASSAGES_MIN = 1_000;

/** Ms to close each part of an index that a command opened. Beyond: the command fails. */
export const INDEX_CLOSE_MS_MAX = 60_000;

/** Ms between two checks of a running service for documents without vectors. */
export const INDEX_VECTOR_CHECK_MS = 30_000;
