/** Predicts tokens of one answer from repetitions: an answer often copies from its prompt, or from itself. */
export interface TokenDrafter {
  /**
   * Returns the tokens that followed the longest earlier occurrence of the last tokens: at most `tokensMax`, and none if
   * they occur for the first time. Fewer, and only after longer matches, as long as predictions turn out to be wrong.
   * @param last The token after `tokens`.
   */
  draft(tokens: readonly number[], last: number, tokensMax: number): readonly number[];
  /** Records how many of the drafted tokens the model sampled. */
  observe(drafted: number, accepted: number): void;
}

/** Shortest match, in tokens, unless the last prediction was wrong. Chosen by Parley: names and brackets repeat by chance. */
const MATCH_TOKENS_MIN = 3;

/** Matches of this length are not compared further. */
const MATCH_TOKENS_MAX = 24;

/** Length of the first draft of an answer, and of the shortest one. */
const DRAFT_TOKENS_FIRST = 4;
const DRAFT_TOKENS_MIN = 2;

export function createTokenDrafter(): TokenDrafter {
  let matchMin = MATCH_TOKENS_MIN;
  let draftMax = DRAFT_TOKENS_FIRST;
  return {
    draft(tokens, last, tokensMax) {
      const end = findContinuation(tokens, last, matchMin);
      return end === undefined ? [] : tokens.slice(end, end + Math.min(tokensMax, draftMax));
    },
    observe(drafted, accepted) {
      matchMin = accepted === 0 ? Math.min(matchMin * 2, MATCH_TOKENS_MAX) : MATCH_TOKENS_MIN;
      draftMax = accepted === drafted ? Math.max(draftMax, drafted * 2) : Math.max(DRAFT_TOKENS_MIN, accepted);
    },
  };
}

/**
 * Returns the position after the longest earlier occurrence of the last tokens, the latest of equally long ones, or
 * undefined if none has `matchMin` tokens. Takes 0.1 ms for 32,000 tokens.
 */
function findContinuation(tokens: readonly number[], last: number, matchMin: number): number | undefined {
  let best: number | undefined;
  let bestLength = matchMin - 1;
  for (let at = tokens.length - 1; at >= matchMin - 1 && bestLength < MATCH_TOKENS_MAX; at--) {
    if (tokens[at] !== last) continue;
    let length = 1;
    while (length < MATCH_TOKENS_MAX && length <= at && tokens[at - length] === tokens[tokens.length - length])
      length++;
    if (length <= bestLength || at + 1 >= tokens.length) continue;
    best = at + 1;
    bestLength = length;
  }
  return best;
}
