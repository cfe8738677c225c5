import type { EmbeddingInput } from '../engine.ts';
import type { NativeModel } from './native-model.ts';
import { RefusedError } from './refused-error.ts';
import { TooManyTokensError, tokenizeInput } from './tokenize-input.ts';

/**
 * A text's own tokens, none of them special: what stands around them is the affair of who reads them.
 * @throws RefusedError naming the text's field where it is far longer than `max` tokens.
 */
export function textTokens(model: NativeModel, input: EmbeddingInput, max: number): readonly number[] {
  const reader = { ...model, shouldPrependBos: false, loaded: { ...model.loaded, contextTokens: max } };
  try {
    return tokenizeInput(reader, { type: 'segments', segments: [{ text: input.text, special: false }] });
  } catch (error) {
    throw error instanceof TooManyTokensError ? tooLong(input, { tokens: `more than ${error.tokens}`, max }) : error;
  }
}

/** wire.md 1.7 has the sentence. */
export const tooLong = (
  { field }: EmbeddingInput,
  { tokens, max }: { readonly tokens: number | string; readonly max: number },
): RefusedError =>
  new RefusedError({
    kind: 'invalid',
    message: `Range of input length should be [1, ${max}] (${field}: ${tokens} tokens)`,
    param: field,
  });
