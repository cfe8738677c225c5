import { bonusOf, HELPED_TIMES_MAX } from './bias-scale.ts';
import type { TrieNode } from './hotword-trie.ts';

/** Helps hotwords while one reading goes on, token by token. */
export interface HotwordBias {
  /** The token to take. @param best The one with the highest score, which is changed nowhere. */
  choose(scores: Float32Array, best: number): number;
  /** This token was taken, whoever chose it. */
  take(token: number): void;
}

/**
 * @param decode The text of tokens; U+FFFD for half a character.
 *
 * A start is helped at the beginning of a word only, and not right behind a hotword that ended or a start that came to
 * nothing: lists are how it runs away. A hotword that is under way is helped more, or half of it would stand in the text.
 */
export function createHotwordBias(root: TrieNode, decode: (tokens: readonly number[]) => string): HotwordBias {
  const helped = new Map<number, number>();
  let under: TrieNode | undefined;
  let isBlocked = false;
  let isInsideCharacter = false;

  return {
    choose(scores, best) {
      if (isInsideCharacter && !under) return best;
      if (isBlocked && !under) return best;
      const top = scores[best] ?? 0;
      let [chosen, chosenScore] = [best, top];
      for (const [token, node] of (under ?? root).next) {
        if (node.words.every((word) => (helped.get(word) ?? 0) >= HELPED_TIMES_MAX)) continue;
        const { bonus, gapMax } = bonusOf(node.weight, under !== undefined);
        const score = scores[token] ?? -Infinity;
        if (top - score > gapMax || score + bonus <= chosenScore) continue;
        [chosen, chosenScore] = [token, score + bonus];
      }
      return chosen;
    },
    take(token) {
      const text = decode([token]);
      const node = (under ?? root).next.get(token);
      const cameToNothing = under !== undefined && !node;
      isBlocked = cameToNothing || (isBlocked && !/[\p{L}\p{N}]/u.test(text));
      if (node?.end !== undefined) helped.set(node.end, (helped.get(node.end) ?? 0) + 1);
      under = node && node.next.size > 0 ? node : undefined;
      if (node && !under) isBlocked = true;
      isInsideCharacter = text.endsWith('\ufffd');
    },
  };
}
