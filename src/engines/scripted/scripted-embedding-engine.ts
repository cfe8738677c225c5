import { createInputLengthError } from '../../core/generation-errors.ts';
import { EMBEDDING_TOKENS_MAX } from '../limits.ts';
import { getAbortError } from '../get-abort-error.ts';
import type { EmbeddingEngine } from '../engine.ts';

export const SCRIPTED_DIMENSIONS = 64;

/** Number of word ids; below any declared vocabulary size. */
const WORD_ID_COUNT = 65_536;

/** Returns a number for a word; the same word always gives the same number. */
export function getWordId(word: string): number {
  let hash = 7;
  for (const character of word.trim()) hash = (Math.imul(hash, 31) + (character.codePointAt(0) ?? 0)) >>> 0;
  return hash % WORD_ID_COUNT;
}

/**
 * Creates an engine whose embeddings depend on the words: texts that share words are more similar. A word is a token.
 */
export function createScriptedEmbeddingEngine({ textTokensMax }: { readonly textTokensMax: number }): EmbeddingEngine {
  const max = Math.min(textTokensMax, EMBEDDING_TOKENS_MAX);
  return {
    getDimensions: async () => SCRIPTED_DIMENSIONS,
    async embed({ inputs }, signal) {
      if (signal.aborted) throw getAbortError(signal);
      const wordLists = inputs.map(({ text, field }) => {
        const words = text.match(/\S+/g) ?? [];
        if (words.length > 0 && words.length <= max) return words;
        throw createInputLengthError(field, words.length, max);
      });
      return {
        vectors: wordLists.map(computeWordVector),
        tokens: wordLists.reduce((sum, words) => sum + words.length, 0),
      };
    },
  };
}

/** Sums the vectors of the words. */
const computeWordVector = (words: readonly string[]): number[] =>
  Array.from({ length: SCRIPTED_DIMENSIONS }, (_, at) =>
    words.reduce((sum, word) => sum + Math.cos(getWordId(word) * (at + 1)), 0),
  );
