import { deflateSync } from 'node:zlib';
import type { Hotword } from '../../core/speech.ts';
import { findHotwords } from './find-hotwords.ts';
import { RECITED_HOTWORDS_MIN } from './hotword-bias-constants.ts';

/** Maximum length of a repeated sequence, in tokens. */
const PERIOD_TOKENS_MAX = 30;
/** Minimum number of repeated tokens, and of repetitions. People do repeat themselves two or three times. */
const REPEATED_TOKENS_MIN = 12;
const REPETITIONS_MIN = 4;

/** Returns how many tokens at the end repeat the tokens before them, or 0 if that is not an endless repetition. */
export function countRepeatedTail(tokens: readonly number[]): number {
  for (let period = 1; period <= Math.min(PERIOD_TOKENS_MAX, tokens.length / REPETITIONS_MIN); period++) {
    let same = 0;
    while (same + period < tokens.length && tokens.at(-1 - same) === tokens.at(-1 - same - period)) same++;
    if (same >= REPEATED_TOKENS_MIN && same >= period * (REPETITIONS_MIN - 1)) return same;
  }
  return 0;
}

/** Returns the compression ratio of a text; it is high for repetitive texts, and 0 for an empty one. */
export function computeCompressionRatio(text: string): number {
  const bytes = Buffer.from(text);
  return bytes.length === 0 ? 0 : bytes.length / deflateSync(bytes).length;
}

/**
 * Returns whether a text recites the list of hotwords instead of the speech. This is the case if hotwords that are
 * neighbors in the list, or the same hotword several times, follow each other with nothing between them; or if the text
 * consists of hotwords only and repeats some.
 */
export function isHotwordRecital(text: string, hotwords: readonly Hotword[]): boolean {
  const lowered = text.toLowerCase();
  const matches = findHotwords(text, hotwords);
  const others = matches.toReversed().reduce((rest, { from, to }) => rest.slice(0, from) + rest.slice(to), lowered);
  const hasRepeat = new Set(matches.map(({ hotwordIndex }) => hotwordIndex)).size < matches.length;
  if (hasRepeat && matches.length >= RECITED_HOTWORDS_MIN && !/[\p{L}\p{N}]/u.test(others)) return true;
  let run = 1;
  for (const [at, { hotwordIndex, from }] of matches.entries()) {
    const last = matches[at - 1];
    const isNext =
      last !== undefined &&
      (hotwordIndex === last.hotwordIndex || hotwordIndex === last.hotwordIndex + 1) &&
      !/[\p{L}\p{N}]/u.test(lowered.slice(last.to, from));
    run = isNext ? run + 1 : 1;
    if (run >= RECITED_HOTWORDS_MIN) return true;
  }
  return false;
}
