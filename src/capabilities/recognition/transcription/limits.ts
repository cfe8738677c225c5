/**
 * Limits of this folder. Each name contains the unit; each comment says what happens beyond the limit and where the
 * value comes from. `src/core/limits.ts` has those of several modules; docs/limits.md lists all.
 */

/** Ms of silence between words that ends a sentence in a transcribed file. */
export const SENTENCE_PAUSE_MS = 1_300;
