import { protectedSpans } from './protected-spans.ts';

/** A part of a text: what is translated, or what stays as it is. All parts in a row are the text. */
export interface Piece {
  readonly type: 'kept' | 'sentence';
  readonly text: string;
}

export interface SplitOptions {
  /** Of the text's language, for the ends of sentences. */
  readonly locale: string;
  /** UTF-16 units of one sentence. A longer one is cut, where it can be at the end of a clause or a word. */
  readonly charactersMax: number;
}

/**
 * A text in sentences, with everything between them as it is: line breaks and blanks, marks of lists and headings, fenced
 * code, and lines without a word. A sentence has no blank at its ends and no line break in it.
 */
export function splitText(text: string, { locale, charactersMax }: SplitOptions): readonly Piece[] {
  const segmenter = new Intl.Segmenter(locale, { granularity: 'sentence' });
  const pieces: Piece[] = [];
  const add = (type: Piece['type'], piece: string): void => {
    if (piece === '') return;
    const last = pieces.at(-1);
    if (type === 'kept' && last?.type === 'kept') pieces[pieces.length - 1] = { type, text: last.text + piece };
    else pieces.push({ type, text: piece });
  };
  const addTrimmed = (piece: string): void => {
    const core = piece.trim();
    if (!hasWords(core)) return add('kept', piece);
    const start = piece.indexOf(core);
    add('kept', piece.slice(0, start));
    add('sentence', core);
    add('kept', piece.slice(start + core.length));
  };

  const isCode = createFence();
  for (const [line, ending] of linesOf(text)) {
    if (isCode(line) || !hasWords(line)) {
      add('kept', line + ending);
      continue;
    }
    const lead = LEAD.exec(line)?.[0] ?? '';
    add('kept', lead);
    for (const sentence of sentencesOf(line.slice(lead.length), segmenter))
      for (const part of cut(sentence, charactersMax)) addTrimmed(part);
    add('kept', ending);
  }
  return pieces;
}

/** Blanks, and the marks of lists, quotations and headings. */
const LEAD = /^\s*(?:(?:[-*+•·>]|#{1,6}|\d{1,4}[.)])[ \t]+)*/;

const LINE_END = /\r\n|[\n\r]/g;

/** Each line with what ends it. */
function* linesOf(text: string): Generator<readonly [line: string, ending: string]> {
  let at = 0;
  for (const match of text.matchAll(LINE_END)) {
    yield [text.slice(at, match.index), match[0]];
    at = match.index + match[0].length;
  }
  if (at < text.length) yield [text.slice(at), ''];
}

/** Tells of each line in turn whether it belongs to fenced code, the fences included. A fence nobody closes goes to the end. */
function createFence(): (line: string) => boolean {
  let open: string | undefined;
  return (line) => {
    const fence = /^\s*(`{3,}|~{3,})/.exec(line)?.[1];
    if (open === undefined) {
      open = fence;
      return fence !== undefined;
    }
    if (fence?.startsWith(open) && line.trim() === fence) open = undefined;
    return true;
  };
}

/** Something to translate is left when the protected parts are taken out. */
function hasWords(text: string): boolean {
  let at = 0;
  for (const { start, end } of protectedSpans(text)) {
    if (LETTER.test(text.slice(at, start))) return true;
    at = end;
  }
  return LETTER.test(text.slice(at));
}

const LETTER = /\p{L}/u;

/** An end of a sentence inside a protected part is none. */
function* sentencesOf(line: string, segmenter: Intl.Segmenter): Generator<string> {
  const spans = protectedSpans(line);
  let at = 0;
  let start = 0;
  for (const { index, segment } of segmenter.segment(line)) {
    const end = index + segment.length;
    while ((spans[at]?.end ?? Infinity) <= end) at++;
    if ((spans[at]?.start ?? Infinity) < end) continue;
    yield line.slice(start, end);
    start = end;
  }
  if (start < line.length) yield line.slice(start);
}

/** Ends of clauses, then of words; behind them a sentence that is too long may be cut. */
const CUTS = [/[,;:，；：、،؛]\s*/g, /\s+/g] as const;

function* cut(sentence: string, charactersMax: number): Generator<string> {
  let rest = sentence;
  while (rest.length > charactersMax) {
    const at = cutPlace(rest, charactersMax);
    yield rest.slice(0, at);
    rest = rest.slice(at);
  }
  yield rest;
}

/** Never inside a protected part, which may be longer than what is allowed. */
function cutPlace(text: string, charactersMax: number): number {
  const spans = protectedSpans(text);
  const isFree = (place: number): boolean => !spans.some(({ start, end }) => start < place && place < end);
  for (const pattern of CUTS) {
    const places = Array.from(
      text.slice(0, charactersMax).matchAll(pattern),
      ({ index, 0: { length } }) => index + length,
    );
    const last = places.findLast((place) => place > 0 && isFree(place));
    if (last !== undefined) return last;
  }
  const crossed = spans.find(({ start, end }) => start < charactersMax && charactersMax < end);
  if (crossed) return crossed.start > 0 ? crossed.start : crossed.end;
  // Not between the halves of a character.
  const code = text.charCodeAt(charactersMax);
  const isLowHalf = code >= 0xdc00 && code <= 0xdfff;
  return isLowHalf ? charactersMax + 1 : charactersMax;
}
