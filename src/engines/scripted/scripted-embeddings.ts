import { ServiceError } from '../../core/error.ts';
import { EMBEDDING_TOKENS_MAX } from '../../core/limits.ts';
import { abortReason } from '../abort-reason.ts';
import type { EmbeddingEngine } from '../engine.ts';

export const SCRIPTED_DIMENSIONS = 64;

/** Below any vocabulary that is declared: words have to have numbers. */
const WORD_IDS = 65_536;

/** The same word, the same number. */
export function wordId(word: string): number {
  let hash = 7;
  for (const character of word.trim()) hash = (Math.imul(hash, 31) + (character.codePointAt(0) ?? 0)) >>> 0;
  return hash % WORD_IDS;
}

/** Vectors made of words: texts that share some are closer than texts that share none. A word is a token. */
export function createScriptedEmbeddings({ textTokensMax }: { readonly textTokensMax: number }): EmbeddingEngine {
  const max = Math.min(textTokensMax, EMBEDDING_TOKENS_MAX);
  return {
    dimensions: async () => SCRIPTED_DIMENSIONS,
    async embed({ inputs }, signal) {
      if (signal.aborted) throw abortReason(signal);
      const texts = inputs.map(({ text, field }) => {
        const words = text.match(/\S+/g) ?? [];
        if (words.length > 0 && words.length <= max) return words;
        const message = `Range of input length should be [1, ${max}] (${field}: ${words.length} tokens)`;
        throw new ServiceError('invalid-request', message, { param: field });
      });
      return { vectors: texts.map(vectorOf), tokens: texts.reduce((sum, words) => sum + words.length, 0) };
    },
  };
}

/** The sum of its words' own directions. */
const vectorOf = (words: readonly string[]): number[] =>
  Array.from({ length: SCRIPTED_DIMENSIONS }, (_, at) =>
    words.reduce((sum, word) => sum + Math.cos(wordId(word) * (at + 1)), 0),
  );
