import type { AlternativeToken, TokenLogprob } from '../../core/event.ts';
import { LOGPROB_MIN } from '../../core/limits.ts';

/**
 * Encodes the object of `choices[].logprobs`, without a `refusal` key; null if there are no tokens
 * (docs/wire/openai-compatible.md#chat-logprobs).
 */
export function encodeLogprobs(tokens: readonly TokenLogprob[] | undefined): { content: readonly object[] } | null {
  if (!tokens || tokens.length === 0) return null;
  return { content: tokens.map((token) => ({ ...encodeToken(token), top_logprobs: token.top.map(encodeToken) })) };
}

const encodeToken = ({ token, bytes, logprob }: AlternativeToken): object => ({
  token,
  bytes,
  // −Infinity becomes null too, because JSON has no number for it.
  logprob: logprob === undefined || !(logprob >= LOGPROB_MIN) ? null : logprob,
});
