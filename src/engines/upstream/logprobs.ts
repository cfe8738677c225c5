import type { AlternativeToken, TokenLogprob } from '../../core/event.ts';
import { LOGPROB_MIN } from '../../core/limits.ts';
import type { WireAlternative, WireLogprob } from './chunk.ts';

const encoder = new TextEncoder();

/** @param top Requested number of alternatives; some servers send more. */
export const decodeLogprobs = (tokens: readonly WireLogprob[], top: number): TokenLogprob[] =>
  tokens.map((token) => ({
    ...decodeAlternative(token),
    top: (token.top_logprobs ?? []).slice(0, top).map(decodeAlternative),
  }));

/** A missing `bytes` field means the UTF-8 bytes of the text; −9999 and similar values stand for minus infinity. */
const decodeAlternative = ({ token, bytes, logprob }: WireAlternative): AlternativeToken => ({
  token: token.toWellFormed(),
  bytes: bytes ?? [...encoder.encode(token)],
  logprob: logprob === null || logprob === undefined || logprob < LOGPROB_MIN ? undefined : logprob,
});
