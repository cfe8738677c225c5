import type { AlternativeToken, TokenLogprob } from '../../../core/event.ts';
import { LOGPROB_MIN } from '../../../core/limits.ts';

/** Log probabilities as parallel lists with one entry per token. */
export interface LegacyLogprobs {
  readonly tokens: readonly string[];
  readonly token_logprobs: readonly (number | null)[];
  /** Always includes the token itself. Null for the first token of a prompt, which follows nothing. */
  readonly top_logprobs: readonly (Readonly<Record<string, number | null>> | null)[];
  /** Start of each token in the choice's text, in Unicode code points. */
  readonly text_offset: readonly number[];
}

/** Encodes the tokens of one choice: first its prompt, if requested, then its text. Offsets continue between calls. */
export interface LegacyLogprobsEncoder {
  encodePrompt(tokens: readonly TokenLogprob[]): LegacyLogprobs;
  encodeText(tokens: readonly TokenLogprob[] | undefined): LegacyLogprobs | null;
}

/** @param echo Text that precedes the generated text; undefined for the text of the prompt's own tokens. */
export function createLegacyLogprobsEncoder(echo: string | undefined): LegacyLogprobsEncoder {
  const echoBytes = echo === undefined ? undefined : encoder.encode(echo);
  let echoPosition = 0;
  let isFirstOfPrompt = true;
  let isInPrompt = true;
  let textLength = 0;

  const advanceOffset = (bytes: readonly number[]): number => {
    // A token that continues a multi-byte character has the offset of that character.
    const offset = isContinuation(bytes[0]) ? Math.max(0, textLength - 1) : textLength;
    textLength += bytes.filter((byte) => !isContinuation(byte)).length;
    return offset;
  };

  /** Advances by the part of a prompt's token that the echo contains: tokens and blanks that a model adds are no text. */
  const advanceInPrompt = (bytes: readonly number[]): number => {
    if (!echoBytes) return advanceOffset(bytes);
    const candidates = echoPosition === 0 && bytes[0] === BLANK ? [bytes, bytes.slice(1)] : [bytes];
    const echoed = candidates.find((part) => part.every((byte, at) => echoBytes[echoPosition + at] === byte)) ?? [];
    echoPosition += echoed.length;
    return advanceOffset(echoed);
  };

  const encodeTop = (token: TokenLogprob, toJson: typeof toJsonLogprob): Record<string, number | null> =>
    Object.fromEntries([...token.top, token].map((each) => [formatToken(each), toJson(each)]));

  return {
    encodePrompt(tokens) {
      const encoded = {
        tokens: tokens.map(formatToken),
        token_logprobs: tokens.map(toPromptJsonLogprob),
        top_logprobs: tokens.map((token, at) =>
          isFirstOfPrompt && at === 0 ? null : encodeTop(token, toPromptJsonLogprob),
        ),
        text_offset: tokens.map(({ bytes }) => advanceInPrompt(bytes)),
      };
      isFirstOfPrompt &&= tokens.length === 0;
      return encoded;
    },
    encodeText(tokens) {
      if (isInPrompt && echo !== undefined) textLength = Array.from(echo).length;
      isInPrompt = false;
      if (!tokens || tokens.length === 0) return null;
      return {
        tokens: tokens.map(formatToken),
        token_logprobs: tokens.map(toJsonLogprob),
        top_logprobs: tokens.map((token) => encodeTop(token, toJsonLogprob)),
        text_offset: tokens.map(({ bytes }) => advanceOffset(bytes)),
      };
    },
  };
}

/** Joins the lists of a prompt and its answer, each of which may be absent. */
export const joinLegacyLogprobs = (prompt: LegacyLogprobs | null, text: LegacyLogprobs | null): LegacyLogprobs | null =>
  prompt && text
    ? {
        tokens: [...prompt.tokens, ...text.tokens],
        token_logprobs: [...prompt.token_logprobs, ...text.token_logprobs],
        top_logprobs: [...prompt.top_logprobs, ...text.top_logprobs],
        text_offset: [...prompt.text_offset, ...text.text_offset],
      }
    : (prompt ?? text);

const encoder = new TextEncoder();
const BLANK = 0x20;

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

/** Keeps small numbers: programs sum up those of a prompt. */
const toPromptJsonLogprob = ({ logprob }: AlternativeToken): number | null => logprob ?? null;

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;
