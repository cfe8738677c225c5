import type { AlternativeToken, TokenLogprob } from '../../core/event.ts';
import { LOGPROB_MIN } from '../../core/limits.ts';

/** wire.md E1.5: the object of `choices[].logprobs`, without a `refusal` key; null where no token has one. */
export function encodeLogprobs(tokens: readonly TokenLogprob[] | undefined): { content: readonly object[] } | null {
  if (!tokens || tokens.length === 0) return null;
  return { content: tokens.map((token) => ({ ...encodeToken(token), top_logprobs: token.top.map(encodeToken) })) };
}

const encodeToken = ({ token, bytes, logprob }: AlternativeToken): object => ({
  token,
  bytes,
  // Also what is −Infinity, which JSON has no number for.
  logprob: logprob === undefined || !(logprob >= LOGPROB_MIN) ? null : logprob,
});
