import type { AlternativeToken, TokenLogprob } from '../../core/event.ts';
import { LOGPROB_MIN } from '../../core/limits.ts';
import type { WireAlternative, WireLogprob } from './chunk.ts';

const encoder = new TextEncoder();

/** @param top Alternatives that were asked for; some servers send more. */
export const toLogprobs = (tokens: readonly WireLogprob[], top: number): TokenLogprob[] =>
  tokens.map((token) => ({
    ...toAlternative(token),
    top: (token.top_logprobs ?? []).slice(0, top).map(toAlternative),
  }));

/** Servers that give no bytes mean those of the text; −9999 and the like stand for minus infinity. */
const toAlternative = ({ token, bytes, logprob }: WireAlternative): AlternativeToken => ({
  token: token.toWellFormed(),
  bytes: bytes ?? [...encoder.encode(token)],
  logprob: logprob === null || logprob === undefined || logprob < LOGPROB_MIN ? undefined : logprob,
});
