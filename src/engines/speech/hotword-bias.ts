import { BUDGET_PER_WEIGHT, HELPED_TIMES_MAX, TRIALS_MAX } from './bias-scale.ts';
import type { TrieNode } from './hotword-trie.ts';
import { highest } from './scores.ts';

/** What to do at a place of a reading. */
export type Choice =
  /** Nothing to be done for hotwords here: the best token. */
  | { readonly type: 'best' }
  /** A token of a hotword that is not the best one. `isFirst`: the first of a trial, which may have to be taken back. */
  | { readonly type: 'help'; readonly token: number; readonly isFirst: boolean }
  /** The hotword cannot be finished: everything since its trial began is taken back, and the best token taken there. */
  | { readonly type: 'back' };

/** Helps hotwords while one reading goes on, token by token. */
export interface HotwordBias {
  /** @param best The token with the highest score. */
  choose(scores: Float32Array, best: number): Choice;
  /** Of a first help: whether its token is heard at least as well behind the best one. @param scores What comes behind that. */
  isLater(token: number, scores: Float32Array): boolean;
  /** This token was taken. After `back`: the one that was taken instead of the trial. */
  take(token: number): void;
}

/** A hotword that is under way. */
interface Walk {
  readonly node: TrieNode;
  /** How far its tokens lay below the best ones so far; 0 where it needed no help. */
  readonly spent: number;
}

interface State {
  readonly walk: Walk | undefined;
  /** No hotword begins here. */
  readonly isBlocked: boolean;
  readonly isInsideCharacter: boolean;
}

const BEST: Choice = { type: 'best' };

/**
 * A hotword is read where its tokens together lie no further below the best ones than its weight allows; where they do, the
 * reading goes back to where its help began. None begins inside a character, nor right behind one that was helped: lists
 * are how it runs away.
 * @param decode The text of tokens; U+FFFD for half a character.
 */
export function createHotwordBias(root: TrieNode, decode: (tokens: readonly number[]) => string): HotwordBias {
  const helped = new Map<number, number>();
  let trials = 0;
  let state: State = { walk: undefined, isBlocked: false, isInsideCharacter: false };
  let beforeTrial: State | undefined;
  let isBack = false;

  /** The likeliest way on that can be paid for. */
  const affordable = (
    { node, spent }: Walk,
    scores: Float32Array,
    top: number,
  ): { readonly token: number; readonly price: number } | undefined => {
    let found: { readonly token: number; readonly price: number } | undefined;
    for (const [token, next] of node.next) {
      const price = top - (scores[token] ?? -Infinity);
      if (price >= (found?.price ?? Infinity) || spent + price > BUDGET_PER_WEIGHT * next.weight) continue;
      if (next.words.some((word) => (helped.get(word) ?? 0) < HELPED_TIMES_MAX)) found = { token, price };
    }
    return found;
  };

  /** What the token that was chosen lies below the best one, and which it is. */
  let chosen: { readonly token: number; readonly price: number } | undefined;
  return {
    choose(scores, best) {
      chosen = undefined;
      const { walk, isBlocked, isInsideCharacter } = state;
      if (!walk && (isBlocked || isInsideCharacter)) return BEST;
      const from = walk ?? { node: root, spent: 0 };
      // What was heard needs no help.
      if (from.node.next.has(best)) return BEST;
      if (from.spent === 0 && trials >= TRIALS_MAX) return BEST;
      chosen = affordable(from, scores, scores[best] ?? 0);
      if (chosen) return { type: 'help', token: chosen.token, isFirst: from.spent === 0 };
      if (from.spent === 0 || from.node.end !== undefined) return BEST;
      isBack = true;
      return { type: 'back' };
    },
    isLater: (token, scores) => (scores[highest(scores)] ?? 0) - (scores[token] ?? -Infinity) <= (chosen?.price ?? 0),
    take(token) {
      if (isBack) {
        isBack = false;
        state = beforeTrial ?? state;
        beforeTrial = undefined;
      }
      const text = decode([token]);
      const { walk, isBlocked } = state;
      const paid = chosen?.token === token ? chosen.price : 0;
      if (paid > 0 && (walk?.spent ?? 0) === 0) {
        beforeTrial = { ...state, walk: undefined };
        trials++;
      }
      const canBegin = !isBlocked && !state.isInsideCharacter;
      const onward = walk?.node.next.get(token);
      const node = onward ?? (canBegin ? root.next.get(token) : undefined);
      const spent = (onward ? (walk?.spent ?? 0) : 0) + paid;
      const isComplete = node?.end !== undefined && node.next.size === 0;
      // A shorter one may have ended where the longer one was not heard.
      const end = isComplete ? node.end : onward ? undefined : walk?.node.end;
      if (end !== undefined && (spent > 0 || (walk?.spent ?? 0) > 0)) helped.set(end, (helped.get(end) ?? 0) + 1);
      state = {
        walk: node && node.next.size > 0 ? { node, spent } : undefined,
        isBlocked: isComplete && spent > 0 ? true : isBlocked && !/[\p{L}\p{N}]/u.test(text),
        isInsideCharacter: text.endsWith('\ufffd'),
      };
      chosen = undefined;
    },
  };
}
