import { REPEATED_CHARS_ALONE_MIN, REPEATED_CHARS_MIN, REPEATED_LINE_CHARS_MAX } from '../limits.ts';
import type { TextWindow } from './text-window.ts';

/** Result of a match at a position; `open`: more text is needed to decide. */
export type MatchState = 'found' | 'open' | 'no';

/** Whether an end of the text starts at a position. Called with ascending positions, again for those that were open. */
export type EndDetector = (seen: TextWindow, at: number) => MatchState;

/**
 * Lines to find again in a growing text. Between lines only the indentation of the next line is compared: models vary
 * the number of line breaks and trailing blanks.
 */
export interface LinePattern {
  /** A string matches these characters. An object matches a line end and the next line's indentation, if defined. */
  readonly parts: readonly (string | { readonly indent: string | undefined })[];
  /** Only a blank or the end of the text may follow. */
  readonly endsLine: boolean;
  /** This many parts suffice at the end of the text. Infinity: never. */
  readonly partsAtEnd: number;
}

/** The fence that models write around code when they take the request for a conversation. */
export const FENCE_PATTERN: LinePattern = {
  parts: [{ indent: undefined }, '```'],
  endsLine: false,
  partsAtEnd: Infinity,
};

/**
 * Creates a pattern from the first lines of a text, enough of them that a repetition is not chance. Undefined when the
 * text is too short.
 */
export function createBeginningPattern(text: string): LinePattern | undefined {
  const parts: (string | { readonly indent: string })[] = [];
  let chars = 0;
  let partsAtEnd = Infinity;
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    const indent = index === 0 ? '' : line.slice(0, line.length - line.trimStart().length);
    if (index > 0) parts.push({ indent });
    const lineText = line.slice(indent.length).trimEnd();
    const compared = lineText.slice(0, REPEATED_LINE_CHARS_MAX);
    parts.push(compared);
    chars += compared.replaceAll(/\s/g, '').length;
    if (chars >= REPEATED_CHARS_ALONE_MIN) partsAtEnd = Math.min(partsAtEnd, parts.length);
    if (chars >= REPEATED_CHARS_MIN) return { parts, endsLine: compared === lineText, partsAtEnd };
  }
  return chars >= REPEATED_CHARS_ALONE_MIN ? { parts, endsLine: true, partsAtEnd } : undefined;
}

/** Matches a pattern at a position. */
export function matchLinePattern(pattern: LinePattern, window: TextWindow, at: number): MatchState {
  const { text, previousCharacter } = window;
  const [first] = pattern.parts;
  // At the start of the text, the line end that the pattern starts with stands in the prompt.
  if (typeof first === 'object' && previousCharacter === '' && at === 0) {
    const verdict = match(pattern, window, { from: window.getBlankEnd(0), skipped: 1 });
    if (verdict !== 'no') return verdict;
  }
  if (
    typeof first === 'string' &&
    isWordCharacter(first[0]) &&
    isWordCharacter(text[at - 1] ?? previousCharacter.at(-1))
  )
    return 'no';
  return match(pattern, window, { from: at, skipped: 0 });
}

interface MatchStart {
  readonly from: number;
  /** Number of leading parts that are not compared. */
  readonly skipped: number;
}

function match(
  { parts, endsLine, partsAtEnd }: LinePattern,
  window: TextWindow,
  { from, skipped }: MatchStart,
): MatchState {
  const { text, isComplete } = window;
  const getStateAtEnd = (matched: number): MatchState =>
    isComplete ? (matched >= partsAtEnd ? 'found' : 'no') : 'open';
  let at = from;
  for (let index = skipped; index < parts.length; index++) {
    const part = parts[index] ?? '';
    if (typeof part === 'string') {
      const actual = text.slice(at, at + part.length);
      if (actual !== part) return actual.length < part.length && part.startsWith(actual) ? getStateAtEnd(index) : 'no';
      at += part.length;
      continue;
    }
    const end = window.getBlankEnd(at);
    if (end === text.length) return getStateAtEnd(index);
    const line = window.getLineStart(at);
    if (line === undefined || (part.indent !== undefined && text.slice(line, end) !== part.indent)) return 'no';
    at = end;
  }
  if (!endsLine) return 'found';
  if (at === text.length) return isComplete ? 'found' : 'open';
  return window.getBlankEnd(at) > at ? 'found' : 'no';
}

const isWordCharacter = (character: string | undefined): boolean =>
  character !== undefined && /[\p{L}\p{N}_]/u.test(character);
