import type { WhisperTokens } from './whisper-tokens.ts';

/**
 * Returns the scores of the text tokens and the end token; suppressed tokens get −Infinity. The end token is the only
 * special token that may follow, and not at the start of a text.
 * @param scores Scores of all tokens; suppressed ones are overwritten.
 */
export function restrictScores(
  scores: Float32Array,
  tokens: WhisperTokens,
  { isAtStart }: { readonly isAtStart: boolean },
): Float32Array {
  const allowed = scores.subarray(0, tokens.endOfText + 1);
  for (const token of tokens.suppressed) if (token < tokens.endOfText) allowed[token] = -Infinity;
  if (isAtStart) for (const token of tokens.suppressedAtStart) allowed[token] = -Infinity;
  return allowed;
}
