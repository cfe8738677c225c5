// All constants that determine the influence of hotwords, in one file because they are measured together by a
// benchmark.

/** Maximum length of a prompt, in tokens: a little less than half of the decoder's context. */
export const PROMPT_TOKENS_MAX = 200;

/** Maximum number of prompt tokens for the caller's context if there is also a glossary. */
export const CONTEXT_TOKENS_MAX = 80;

/**
 * Budget of a hotword for each step of its weight: how far the scores of its tokens may lie below the best ones in
 * total.
 */
export const SCORE_BUDGET_PER_WEIGHT = 0.8;

/** How often a hotword may be boosted in one decoding attempt. Later occurrences are recognized without a boost. */
export const BOOSTS_PER_HOTWORD_MAX = 2;

/** Hotwords that may be started by a boost in one decoding attempt. Each trial costs at least one decoder step. */
export const BOOST_TRIALS_MAX = 40;

/** Number of consecutive hotwords from which a text counts as a recital of the glossary (repetition.ts). */
export const RECITED_HOTWORDS_MIN = 3;

/**
 * Maximum distance between a hotword and the recognized text (find-similar-hotwords.ts), plus an extra for each weight
 * step.
 */
export const SOUND_DISTANCE_MAX = 0.36;
export const SOUND_DISTANCE_PER_WEIGHT = 0.04;

/** Maximum number of hotwords that are boosted in one decoding attempt. */
export const SIMILAR_HOTWORDS_MAX = 16;

/** Number of the closest hotwords that are tried again after the model recited the list. */
export const CLOSEST_HOTWORDS_MAX = 2;
