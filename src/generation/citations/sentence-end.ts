import { CITED_SENTENCE_CHARS_MAX } from '../../core/limits.ts';
import { blanksLength, MARK_CHARS_MAX, markLength, mayBecomeMark } from './marks.ts';

export interface Growing {
  /** Nothing more will come. */
  readonly isLast: boolean;
  /** Inside fenced code, where only lines end. */
  readonly isFenced: boolean;
}

/**
 * Where the first sentence of a text that grows ends, with the citation marks behind it; undefined while that is open. What is
 * said once stays so, however the text goes on; a sentence longer than CITED_SENTENCE_CHARS_MAX is cut there.
 */
export function sentenceEnd(text: string, { isLast, isFenced }: Growing): number | undefined {
  const end = isFenced ? lineEnd(text) : proseEnd(text, isLast);
  if (end !== undefined && end <= CITED_SENTENCE_CHARS_MAX) return end;
  // What may still make a mark of the last characters is waited for, so that it is cut in the same place however it comes.
  const isLong = text.length > CITED_SENTENCE_CHARS_MAX + (isLast ? 0 : MARK_CHARS_MAX);
  if (isLong) return wholeCharacters(text, CITED_SENTENCE_CHARS_MAX);
  return isLast && text !== '' ? text.length : undefined;
}

function lineEnd(text: string): number | undefined {
  const at = text.indexOf('\n');
  return at < 0 ? undefined : at + 1;
}

function proseEnd(text: string, isLast: boolean): number | undefined {
  for (const { 0: found, index } of text.matchAll(STOPS)) {
    // There it is cut anyway.
    if (index > CITED_SENTENCE_CHARS_MAX) return undefined;
    if (found === '\n') return index + 1;
    const behind = index + found.length;
    const isFull = FULL_STOP.test(found);
    if (!isFull && isAbbreviation(text.slice(0, index), found)) continue;
    const end = behindMarks(text, behind);
    const rest = text.slice(end);
    if (rest === '' || mayBecomeMark(rest)) {
      if (!isLast) return undefined;
      if (rest === '') return text.length;
    }
    // A line that ends with the sentence ends as part of it.
    const blanks = blanksLength(rest);
    if (rest[blanks] === '\n') return end + blanks + 1;
    if (isFull || end > behind || /^\s/.test(rest)) return end;
  }
  return undefined;
}

/** A line's end, or what ends sentences with the quotes and brackets that close there. */
const STOPS = /\n|(?:[.!?…]+|[。！？｡]+)["'”’»)」』）*_]*/g;

/** Where what ends a sentence begins, with the blanks behind it; the text's end where nothing does. */
export const endOfStop = (sentence: string): number => STOP_AT_END.exec(sentence)?.index ?? sentence.length;

const STOP_AT_END = /(?:[.!?…。！？｡]+["'”’»)」』）*_]*)?\s*$/;

/** Needs no blank behind it. */
const FULL_STOP = /^[。！？｡]/;

/** A number of a list, an initial, or a word that is written so. */
const isAbbreviation = (before: string, found: string): boolean =>
  found.startsWith('.') &&
  !found.startsWith('..') &&
  (ABBREVIATION.test(before.slice(-ABBREVIATION_CHARS_MAX)) || LIST_NUMBER.test(before));

/** Beyond: the letter before an abbreviation is not seen, and what is longer is none. */
const ABBREVIATION_CHARS_MAX = 12;

const LIST_NUMBER = /^\s*\d{1,3}$/;

const ABBREVIATION =
  /(?:(?<![\p{L}\p{N}])(?:\p{L}|mr|mrs|ms|dr|prof|st|jr|sr|vs|no|nr|ca|bzw|etc|approx|fig|inc|ltd|jan|feb|mar|apr|jun|jul|aug|sep|sept|oct|nov|dec))$/iu;

function behindMarks(text: string, from: number): number {
  let end = from;
  for (;;) {
    const rest = text.slice(end);
    const blanks = blanksLength(rest);
    const mark = markLength(rest.slice(blanks));
    if (mark === 0) return end;
    end += blanks + mark;
  }
}

/** Not between the halves of a character. */
const wholeCharacters = (text: string, at: number): number =>
  /[\uD800-\uDBFF]/.test(text[at - 1] ?? '') ? at - 1 : at;
