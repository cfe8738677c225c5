import type { Hotword } from '../../core/speech.ts';
import { isUnspaced } from './scripts.ts';

/** A place in the tokens of hotwords. */
export interface TrieNode {
  readonly next: ReadonlyMap<number, TrieNode>;
  /** The largest weight of the hotwords that pass here. */
  readonly weight: number;
  /** Positions of the hotwords that pass here. */
  readonly words: readonly number[];
  /** Position of the one that ends here. */
  readonly end: number | undefined;
}

interface Growing extends TrieNode {
  readonly next: Map<number, Growing>;
  weight: number;
  readonly words: number[];
  end: number | undefined;
}

/**
 * Hotwords by their tokens. A word begins with the blank before it, so that nothing in the middle of another word is taken
 * for its beginning; languages without blanks have none.
 */
export function createHotwordTrie(hotwords: readonly Hotword[], encode: (text: string) => readonly number[]): TrieNode {
  const root = createNode();
  for (const [at, { text, weight }] of hotwords.entries()) {
    let node = root;
    for (const token of encode(isUnspaced(text) ? text : ` ${text}`)) {
      const next = node.next.get(token) ?? createNode();
      node.next.set(token, next);
      next.weight = Math.max(next.weight, weight);
      next.words.push(at);
      node = next;
    }
    if (node !== root) node.end ??= at;
  }
  return root;
}

const createNode = (): Growing => ({ next: new Map(), weight: 0, words: [], end: undefined });
