import { deflateSync } from 'node:zlib';
import type { Hotword } from '../../core/speech.ts';
import { RECITED_WORDS_MIN } from './bias-scale.ts';

/** Tokens of a turn that may be repeated, at most. */
const PERIOD_MAX = 30;
/** Tokens that have to be repetition, and turns of it, before it is taken for one: people do say things twice, or thrice. */
const REPEATED_TOKENS_MIN = 12;
const TURNS_MIN = 4;

/** How many tokens at the end say again what stands before them, where they do so without end; else 0. */
export function repeatedTail(tokens: readonly number[]): number {
  for (let period = 1; period <= Math.min(PERIOD_MAX, tokens.length / TURNS_MIN); period++) {
    let same = 0;
    while (same + period < tokens.length && tokens.at(-1 - same) === tokens.at(-1 - same - period)) same++;
    if (same >= REPEATED_TOKENS_MIN && same >= period * (TURNS_MIN - 1)) return same;
  }
  return 0;
}

/** Bytes of a text for each byte of it packed: what repeats itself packs well. 0 for an empty one. */
export function compressionRatio(text: string): number {
  const bytes = Buffer.from(text);
  return bytes.length === 0 ? 0 : bytes.length / deflateSync(bytes).length;
}

/**
 * Whether a text goes through the list of hotwords instead of saying what was said: neighbours of the list one behind the
 * other, or the same word again and again, with nothing between them; or hotwords and nothing else, some of them again.
 */
export function recitesHotwords(text: string, hotwords: readonly Hotword[]): boolean {
  const lowered = text.toLowerCase();
  const heard = occurrences(lowered, hotwords);
  const others = heard.toReversed().reduce((rest, { from, to }) => rest.slice(0, from) + rest.slice(to), lowered);
  const isAgain = new Set(heard.map(({ word }) => word)).size < heard.length;
  if (isAgain && heard.length >= RECITED_WORDS_MIN && !/[\p{L}\p{N}]/u.test(others)) return true;
  let run = 1;
  for (const [at, { word, from }] of heard.entries()) {
    const last = heard[at - 1];
    const isNext =
      last !== undefined &&
      (word === last.word || word === last.word + 1) &&
      !/[\p{L}\p{N}]/u.test(lowered.slice(last.to, from));
    run = isNext ? run + 1 : 1;
    if (run >= RECITED_WORDS_MIN) return true;
  }
  return false;
}

interface Occurrence {
  readonly word: number;
  readonly from: number;
  readonly to: number;
}

/** Where hotwords stand, from the beginning to the end; of those that begin together the longest. */
function occurrences(text: string, hotwords: readonly Hotword[]): readonly Occurrence[] {
  const found: Occurrence[] = [];
  for (const [word, hotword] of hotwords.entries()) {
    const wanted = hotword.text.toLowerCase();
    if (wanted === '') continue;
    for (let from = text.indexOf(wanted); from >= 0; from = text.indexOf(wanted, from + wanted.length))
      found.push({ word, from, to: from + wanted.length });
  }
  found.sort((a, b) => a.from - b.from || b.to - a.to);
  let end = 0;
  return found.filter(({ from, to }) => {
    if (from < end) return false;
    end = to;
    return true;
  });
}
