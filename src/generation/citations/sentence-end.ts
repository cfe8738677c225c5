import { CITED_SENTENCE_CHARS_MAX } from '../limits.ts';
import { countLeadingBlanks, MARK_CHARS_MAX, getMarkLength, canBecomeMark } from './citation-marks.ts';

export interface GrowingTextState {
  /** The text is complete. */
  readonly isLast: boolean;
  /** The text is inside fenced code, where only line breaks end a sentence. */
  readonly isFenced: boolean;
}

/**
 * Finds the end of the first sentence of a growing text, including citation marks after it; undefined while undecided.
 * The result never changes when the text grows. A sentence longer than CITED_SENTENCE_CHARS_MAX is cut there.
 */
export function findSentenceEnd(text: string, { isLast, isFenced }: GrowingTextState): number | undefined {
  const end = isFenced ? findLineEnd(text) : findProseEnd(text, isLast);
  if (end !== undefined && end <= CITED_SENTENCE_CHARS_MAX) return end;
  // Waits while the last characters may become a mark, so that the cut does not depend on how the text arrives.
  const isLong = text.length > CITED_SENTENCE_CHARS_MAX + (isLast ? 0 : MARK_CHARS_MAX);
  if (isLong) return avoidSplitCharacter(text, CITED_SENTENCE_CHARS_MAX);
  return isLast && text !== '' ? text.length : undefined;
}

function findLineEnd(text: string): number | undefined {
  const at = text.indexOf('\n');
  return at < 0 ? undefined : at + 1;
}

function findProseEnd(text: string, isLast: boolean): number | undefined {
  for (const { 0: found, index } of text.matchAll(STOPS)) {
    // The sentence is cut before this position anyway.
    if (index > CITED_SENTENCE_CHARS_MAX) return undefined;
    if (found === '\n') return index + 1;
    const stopEnd = index + found.length;
    const isFull = FULL_STOP.test(found);
    if (!isFull && isAbbreviation(text.slice(0, index), found)) continue;
    const end = skipMarks(text, stopEnd);
    const rest = text.slice(end);
    if (rest === '' || canBecomeMark(rest)) {
      if (!isLast) return undefined;
      if (rest === '') return text.length;
    }
    // A line break after the sentence belongs to it.
    const blanks = countLeadingBlanks(rest);
    if (rest[blanks] === '\n') return end + blanks + 1;
    if (isFull || end > stopEnd || /^\s/.test(rest)) return end;
  }
  return undefined;
}

/** Matches a line break, or sentence punctuation with the closing quotes and brackets after it. */
const STOPS = /\n|(?:[.!?…]+|[。！？｡]+)["'”’»)」』）*_]*/g;

/** Returns the position of the punctuation and blanks that end a sentence; the text's length when there are none. */
export const findStopStart = (sentence: string): number => STOP_AT_END.exec(sentence)?.index ?? sentence.length;

const STOP_AT_END = /(?:[.!?…。！？｡]+["'”’»)」』）*_]*)?\s*$/;

/** Punctuation that needs no blank after it. */
const FULL_STOP = /^[。！？｡]/;

/** Whether the text before a period is a list number, an initial or an abbreviation. */
const isAbbreviation = (before: string, found: string): boolean =>
  found.startsWith('.') &&
  !found.startsWith('..') &&
  (ABBREVIATION.test(before.slice(-ABBREVIATION_CHARS_MAX)) || LIST_NUMBER.test(before));

/** Characters examined before a period: the longest abbreviation and the letter before it. */
const ABBREVIATION_CHARS_MAX = 12;

const LIST_NUMBER = /^\s*\d{1,3}$/;

const ABBREVIATION =
  /(?:(?<![\p{L}\p{N}])(?:\p{L}|mr|mrs|ms|dr|prof|st|jr|sr|vs|no|nr|ca|bzw|etc|approx|fig|inc|ltd|jan|feb|mar|apr|jun|jul|aug|sep|sept|oct|nov|dec))$/iu;

function skipMarks(text: string, from: number): number {
  let end = from;
  for (;;) {
    const rest = text.slice(end);
    const blanks = countLeadingBlanks(rest);
    const mark = getMarkLength(rest.slice(blanks));
    if (mark === 0) return end;
    end += blanks + mark;
  }
}

/** Moves a position back when it would split a surrogate pair. */
const avoidSplitCharacter = (text: string, at: number): number =>
  /[\uD800-\uDBFF]/.test(text[at - 1] ?? '') ? at - 1 : at;
