import { formatInputLength } from '../../core/generation-errors.ts';
import type { EmbeddingInput } from '../engine.ts';
import type { NativeModel } from './native-model.ts';
import { RefusalError } from './refusal-error.ts';
import { TooManyTokensError, tokenizeInput } from './tokenize-input.ts';

/**
 * Tokenizes a text without special tokens; the caller adds the tokens around it.
 * @throws RefusalError naming the field of a text that is far longer than `tokensMax`.
 */
export function tokenizeText(model: NativeModel, input: EmbeddingInput, tokensMax: number): readonly number[] {
  const tokenizer = { ...model, shouldPrependBos: false, loaded: { ...model.loaded, contextTokens: tokensMax } };
  try {
    return tokenizeInput(tokenizer, { type: 'segments', segments: [{ text: input.text, special: false }] });
  } catch (error) {
    throw error instanceof TooManyTokensError
      ? createTooLongError(input, { tokens: `more than ${error.tokens}`, tokensMax: tokensMax })
      : error;
  }
}

export const createTooLongError = (
  { field }: EmbeddingInput,
  { tokens, tokensMax }: { readonly tokens: number | string; readonly tokensMax: number },
): RefusalError =>
  new RefusalError({
    kind: 'invalid',
    message: formatInputLength(field, tokens, tokensMax),
    param: field,
  });
