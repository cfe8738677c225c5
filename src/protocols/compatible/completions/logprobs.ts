import type { AlternativeToken, TokenLogprob } from '../../../core/event.ts';
import { LOGPROB_MIN } from '../../../core/limits.ts';

/** The lists of this interface: one entry for each token in every one of them. */
export interface LegacyLogprobs {
  readonly tokens: readonly string[];
  readonly token_logprobs: readonly (number | null)[];
  /** The sampled token is always one of them. */
  readonly top_logprobs: readonly Readonly<Record<string, number | null>>[];
  /** Where each token begins in the choice's text, in Unicode code points. */
  readonly text_offset: readonly number[];
}

/** Tells the tokens of one choice, piece by piece; the places in its text go on from one to the next. */
export type TellLogprobs = (tokens: readonly TokenLogprob[] | undefined) => LegacyLogprobs | null;

/** @param before What the choice's text begins with, which no token stands for. */
export function createLegacyLogprobs(before: string): TellLogprobs {
  let begun = Array.from(before).length;
  const offsetOf = ({ bytes }: TokenLogprob): number => {
    // Half a character belongs to where the character began.
    const offset = isContinuation(bytes[0]) ? Math.max(0, begun - 1) : begun;
    begun += bytes.filter((byte) => !isContinuation(byte)).length;
    return offset;
  };
  return (tokens) => {
    if (!tokens || tokens.length === 0) return null;
    return {
      tokens: tokens.map(spell),
      token_logprobs: tokens.map(valueOf),
      top_logprobs: tokens.map((token) =>
        Object.fromEntries([...token.top, token].map((each) => [spell(each), valueOf(each)])),
      ),
      text_offset: tokens.map(offsetOf),
    };
  };
}

/** A token that is no text by itself is spelled in bytes, so that two such tokens have two names. */
const spell = ({ token, bytes }: AlternativeToken): string =>
  token.includes('\uFFFD')
    ? `bytes:${bytes.map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('')}`
    : token;

/** Also null for what is −Infinity, which JSON has no number for. */
const valueOf = ({ logprob }: AlternativeToken): number | null =>
  logprob === undefined || !(logprob >= LOGPROB_MIN) ? null : logprob;

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;
