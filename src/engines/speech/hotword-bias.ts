import { SCORE_BUDGET_PER_WEIGHT, BOOSTS_PER_HOTWORD_MAX, BOOST_TRIALS_MAX } from './hotword-bias-constants.ts';
import type { HotwordTrieNode } from './hotword-trie.ts';
import { findBestIndex } from './scores.ts';

/** Decision of the hotword bias for the next token. */
export type BiasDecision =
  /** Take the likeliest token. */
  | { readonly type: 'best' }
  /**
   * Take this hotword token although another one is likelier. `isFirst`: it starts a trial, which may be rolled back.
   */
  | { readonly type: 'boost'; readonly token: number; readonly isFirst: boolean }
  /** The hotword cannot be completed: go back to the start of the trial and take the likeliest token there. */
  | { readonly type: 'rollback' };

/** Boosts hotwords during one decoding attempt, token by token. */
export interface HotwordBias {
  /** Decides about the next token. @param best Token with the highest score. */
  decide(scores: Float32Array, best: number): BiasDecision;
  /**
   * Returns whether the first token of a trial is at least as likely one token later.
   * @param scores Scores of the token after the best one.
   */
  shouldPostpone(token: number, scores: Float32Array): boolean;
  /** Records the token that was taken. After a rollback, that is the token taken instead of the trial. */
  accept(token: number): void;
}

/** A hotword whose first tokens were taken. */
interface HotwordMatch {
  readonly node: HotwordTrieNode;
  /** Sum of the score differences between its tokens and the best ones; 0 if it needed no boost. */
  readonly scoreLoss: number;
}

interface BiasState {
  readonly match: HotwordMatch | undefined;
  /** No hotword may start here. */
  readonly isBlocked: boolean;
  readonly isInsideCharacter: boolean;
}

const BEST_TOKEN: BiasDecision = { type: 'best' };

/**
 * Creates the bias for one decoding attempt. A hotword is taken if the scores of its tokens lie below the best ones by
 * no more in total than its weight allows; otherwise the attempt is rolled back to the first boosted token. No hotword
 * starts inside a character, nor directly after a boosted one, because the model then tends to recite the list.
 * @param decode Decodes tokens to text; an incomplete character becomes U+FFFD.
 */
export function createHotwordBias(root: HotwordTrieNode, decode: (tokens: readonly number[]) => string): HotwordBias {
  const boostCounts = new Map<number, number>();
  let trialCount = 0;
  let state: BiasState = { match: undefined, isBlocked: false, isInsideCharacter: false };
  let stateBeforeTrial: BiasState | undefined;
  let isRollingBack = false;

  /** Returns the likeliest continuation of the hotword within the budget. */
  const findAffordableToken = (
    { node, scoreLoss }: HotwordMatch,
    scores: Float32Array,
    top: number,
  ): { readonly token: number; readonly price: number } | undefined => {
    let found: { readonly token: number; readonly price: number } | undefined;
    for (const [token, next] of node.next) {
      const price = top - (scores[token] ?? -Infinity);
      if (price >= (found?.price ?? Infinity) || scoreLoss + price > SCORE_BUDGET_PER_WEIGHT * next.weight) continue;
      if (next.hotwordIndexes.some((word) => (boostCounts.get(word) ?? 0) < BOOSTS_PER_HOTWORD_MAX))
        found = { token, price };
    }
    return found;
  };

  /** The boosted token, and how far its score lies below the best one. */
  let boosted: { readonly token: number; readonly price: number } | undefined;
  return {
    decide(scores, best) {
      boosted = undefined;
      const { match, isBlocked, isInsideCharacter } = state;
      if (!match && (isBlocked || isInsideCharacter)) return BEST_TOKEN;
      const from = match ?? { node: root, scoreLoss: 0 };
      // A hotword that the model recognizes itself needs no boost.
      if (from.node.next.has(best)) return BEST_TOKEN;
      if (from.scoreLoss === 0 && trialCount >= BOOST_TRIALS_MAX) return BEST_TOKEN;
      boosted = findAffordableToken(from, scores, scores[best] ?? 0);
      if (boosted) return { type: 'boost', token: boosted.token, isFirst: from.scoreLoss === 0 };
      if (from.scoreLoss === 0 || from.node.completedIndex !== undefined) return BEST_TOKEN;
      isRollingBack = true;
      return { type: 'rollback' };
    },
    shouldPostpone: (token, scores) =>
      (scores[findBestIndex(scores)] ?? 0) - (scores[token] ?? -Infinity) <= (boosted?.price ?? 0),
    accept(token) {
      if (isRollingBack) {
        isRollingBack = false;
        state = stateBeforeTrial ?? state;
        stateBeforeTrial = undefined;
      }
      const text = decode([token]);
      const { match, isBlocked } = state;
      const cost = boosted?.token === token ? boosted.price : 0;
      if (cost > 0 && (match?.scoreLoss ?? 0) === 0) {
        stateBeforeTrial = { ...state, match: undefined };
        trialCount++;
      }
      const canStart = !isBlocked && !state.isInsideCharacter;
      const continuation = match?.node.next.get(token);
      const node = continuation ?? (canStart ? root.next.get(token) : undefined);
      const scoreLoss = (continuation ? (match?.scoreLoss ?? 0) : 0) + cost;
      const isComplete = node?.completedIndex !== undefined && node.next.size === 0;
      // A shorter hotword may have ended where a longer one was not recognized.
      const end = isComplete ? node.completedIndex : continuation ? undefined : match?.node.completedIndex;
      if (end !== undefined && (scoreLoss > 0 || (match?.scoreLoss ?? 0) > 0))
        boostCounts.set(end, (boostCounts.get(end) ?? 0) + 1);
      state = {
        match: node && node.next.size > 0 ? { node, scoreLoss: scoreLoss } : undefined,
        isBlocked: isComplete && scoreLoss > 0 ? true : isBlocked && !/[\p{L}\p{N}]/u.test(text),
        isInsideCharacter: text.endsWith('\ufffd'),
      };
      boosted = undefined;
    },
  };
}
