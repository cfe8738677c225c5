import type { Hotword } from '../../core/speech.ts';
import { startsInUnspacedScript } from './split-words.ts';

/** Node in the trie of hotword tokens. */
export interface HotwordTrieNode {
  readonly next: ReadonlyMap<number, HotwordTrieNode>;
  /** Largest weight of the hotwords that pass through this node. */
  readonly weight: number;
  /** Indexes of the hotwords that pass through this node. */
  readonly hotwordIndexes: readonly number[];
  /** Index of the hotword that ends at this node. */
  readonly completedIndex: number | undefined;
}

interface MutableTrieNode extends HotwordTrieNode {
  readonly next: Map<number, MutableTrieNode>;
  weight: number;
  readonly hotwordIndexes: number[];
  completedIndex: number | undefined;
}

/**
 * Builds a trie of the hotwords' tokens. A hotword starts with the preceding space, so that it cannot match inside
 * another word; scripts without spaces are the exception.
 */
export function createHotwordTrie(
  hotwords: readonly Hotword[],
  encode: (text: string) => readonly number[],
): HotwordTrieNode {
  const root = createNode();
  for (const [at, { text, weight }] of hotwords.entries()) {
    let node = root;
    for (const token of encode(startsInUnspacedScript(text) ? text : ` ${text}`)) {
      const next = node.next.get(token) ?? createNode();
      node.next.set(token, next);
      next.weight = Math.max(next.weight, weight);
      next.hotwordIndexes.push(at);
      node = next;
    }
    if (node !== root) node.completedIndex ??= at;
  }
  return root;
}

const createNode = (): MutableTrieNode => ({
  next: new Map(),
  weight: 0,
  hotwordIndexes: [],
  completedIndex: undefined,
});
