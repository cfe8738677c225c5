/** Every number that decides how much a hotword weighs, in one place: a bench measures them together. */

/** Most tokens of a prompt: half of what the decoder holds, less a little. */
export const PROMPT_TOKENS_MAX = 200;

/** Of these, most that the caller's context takes where there is a glossary too. */
export const CONTEXT_TOKENS_MAX = 80;

/** How far all tokens of a hotword together may lie below the best ones at their places, for each step of its weight. */
export const BUDGET_PER_WEIGHT = 0.8;

/** Times that a hotword is helped in one reading. Speech that says it more often says it without help. */
export const HELPED_TIMES_MAX = 2;

/** Beginnings of hotwords that are tried in one reading: each costs a token or a few. */
export const TRIALS_MAX = 40;

/** Hotwords one behind the other in a text that is taken for the glossary itself (repetition.ts). */
export const RECITED_WORDS_MIN = 3;

/** How far from what was heard a hotword may be to be looked for (near-hotwords.ts): this, and more for each step of its weight. */
export const FARTHEST = 0.36;
export const FARTHER_PER_WEIGHT = 0.04;

/** Hotwords that are looked for in one reading. */
export const NEAR_HOTWORDS_MAX = 16;

/** Of these, the nearest ones that are looked for alone where the reading went through the list. */
export const NEAREST = 2;
