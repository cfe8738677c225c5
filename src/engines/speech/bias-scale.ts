/** Every number that decides how much a hotword weighs, in one place: a bench measures them together. */

/** Most tokens of a prompt: half of what the decoder holds, less a little. */
export const PROMPT_TOKENS_MAX = 200;

/** Of these, most that the caller's context takes where there is a glossary too. */
export const CONTEXT_TOKENS_MAX = 80;

/** Added to the score of a token that begins a hotword, for each step of its weight. */
const START_BONUS_PER_WEIGHT = 0.8;

/** More than at its beginning: added to the score of a token that goes on with one. */
const CONTINUATION_EXTRA = 2;

/** A token whose own score is further than this below the best is not helped: nothing of the kind was heard. */
const START_GAP_MAX = 8;
const CONTINUATION_GAP_MAX = 12;

/** Times that a hotword is helped in one reading. Speech that says it more often says it without help. */
export const HELPED_TIMES_MAX = 2;

/** Glossary neighbours one behind the other in a text that is taken for the glossary itself. */
export const RECITED_WORDS_MIN = 3;

/** How much a score is raised, and how far below the best it may be. */
export const bonusOf = (
  weight: number,
  isContinuation: boolean,
): { readonly bonus: number; readonly gapMax: number } => {
  const start = START_BONUS_PER_WEIGHT * weight;
  return isContinuation
    ? { bonus: start + CONTINUATION_EXTRA, gapMax: CONTINUATION_GAP_MAX }
    : { bonus: start, gapMax: START_GAP_MAX };
};

/** How much lower than the plain reading's the mean logarithm of probability of one with help may be. */
export const BIASED_LOG_PROBABILITY_LESS_MAX = 0.3;
