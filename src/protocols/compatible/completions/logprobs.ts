import type { AlternativeToken, TokenLogprob } from '../../../core/event.ts';
import { LOGPROB_MIN } from '../../../core/limits.ts';

/** Log probabilities as parallel lists with one entry per token. */
export interface LegacyLogprobs {
  readonly tokens: readonly string[];
  readonly token_logprobs: readonly (number | null)[];
  /** Always includes the sampled token. */
  readonly top_logprobs: readonly Readonly<Record<string, number | null>>[];
  /** Start of each token in the choice's text, in Unicode code points. */
  readonly text_offset: readonly number[];
}

/** Encodes the next tokens of one choice; offsets continue from the previous call. */
export type EncodeLegacyLogprobs = (tokens: readonly TokenLogprob[] | undefined) => LegacyLogprobs | null;

/** @param echo The echoed prompt, which precedes the generated text and has no tokens here. */
export function createLegacyLogprobsEncoder(echo: string): EncodeLegacyLogprobs {
  let textLength = Array.from(echo).length;
  const advanceOffset = ({ bytes }: TokenLogprob): number => {
    // A token that continues a multi-byte character has the offset of that character.
    const offset = isContinuation(bytes[0]) ? Math.max(0, textLength - 1) : textLength;
    textLength += bytes.filter((byte) => !isContinuation(byte)).length;
    return offset;
  };
  return (tokens) => {
    if (!tokens || tokens.length === 0) return null;
    return {
      tokens: tokens.map(formatToken),
      token_logprobs: tokens.map(toJsonLogprob),
      top_logprobs: tokens.map((token) =>
        Object.fromEntries([...token.top, token].map((each) => [formatToken(each), toJsonLogprob(each)])),
      ),
      text_offset: tokens.map(advanceOffset),
    };
  };
}

/**
 * Formats a token; one that is not valid UTF-8 by itself is written as bytes, so that different tokens stay distinct.
 */
const formatToken = ({ token, bytes }: AlternativeToken): string =>
  token.includes('\uFFFD')
    ? `bytes:${bytes.map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('')}`
    : token;

/** Returns null for −Infinity too, because JSON has no number for it. */
const toJsonLogprob = ({ logprob }: AlternativeToken): number | null =>
  logprob === undefined || !(logprob >= LOGPROB_MIN) ? null : logprob;

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;
