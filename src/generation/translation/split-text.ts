import { protectedSpans } from './protected-spans.ts';
import type { Span } from './protected-spans.ts';

/** A part of a text: what is translated, or what stays as it is. All parts in a row are the text. */
export type Piece =
  | { readonly type: 'kept'; readonly text: string }
  | {
      readonly type: 'sentence';
      readonly text: string;
      /** It goes on with a word or number that was cut: nothing may come between it and the piece before. */
      readonly continues?: true;
    };

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
  const keep = (piece: string): void => {
    if (piece === '') return;
    const last = pieces.at(-1);
    if (last?.type === 'kept') pieces[pieces.length - 1] = { type: 'kept', text: last.text + piece };
    else pieces.push({ type: 'kept', text: piece });
  };
  const addTrimmed = (piece: string, continues: boolean): void => {
    const core = piece.trim();
    if (!hasWords(core)) return keep(piece);
    const start = piece.indexOf(core);
    keep(piece.slice(0, start));
    pieces.push({ type: 'sentence', text: core, ...(continues ? { continues } : {}) });
    keep(piece.slice(start + core.length));
  };

  const isCode = createFence();
  for (const [line, ending] of linesOf(text)) {
    if (isCode(line) || !hasWords(line)) {
      keep(line + ending);
      continue;
    }
    const lead = LEAD.exec(line)?.[0] ?? '';
    keep(lead);
    for (const [column, gap] of columnsOf(line.slice(lead.length))) {
      for (const sentence of sentencesOf(column, segmenter)) {
        let before = '';
        for (const part of cut(sentence, charactersMax)) {
          addTrimmed(part, isInsideWord(before, part));
          before = part;
        }
      }
      keep(gap);
    }
    keep(ending);
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

/** What tabs and runs of blanks part, each with the gap behind it; those in a protected part do not. */
function* columnsOf(line: string): Generator<readonly [column: string, gap: string]> {
  const spans = protectedSpans(line);
  let at = 0;
  let start = 0;
  for (const { index, 0: gap } of line.matchAll(/\s+/g)) {
    if (gap.length < 2 && gap !== '\t') continue;
    while ((spans[at]?.end ?? Infinity) <= index) at++;
    if ((spans[at]?.start ?? Infinity) < index) continue;
    yield [line.slice(start, index), gap];
    start = index + gap.length;
  }
  yield [line.slice(start), ''];
}

/** What may stand before a fence: marks of quotations and list items. */
const FENCE = /^(?<lead>\s*(?:(?:[-*+•·]|\d{1,4}[.)])[ \t]+|>[ \t]*)*)(?<fence>`{3,}(?=[^`]*$)|~{3,})/;
const QUOTATION = /^\s*>/;

/**
 * Tells of each line in turn whether it belongs to fenced code, the fences included. A fence nobody closes goes to the end,
 * that of a quotation to the end of the quotation.
 */
function createFence(): (line: string) => boolean {
  let open: { readonly fence: string; readonly isQuoted: boolean } | undefined;
  return (line) => {
    const { lead = '', fence } = FENCE.exec(line)?.groups ?? {};
    if (open?.isQuoted && !QUOTATION.test(line)) open = undefined;
    if (!open) {
      if (fence !== undefined) open = { fence, isQuoted: lead.includes('>') };
      return fence !== undefined;
    }
    if (fence?.startsWith(open.fence) && line.trimEnd() === lead + fence) open = undefined;
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

/** Ends of clauses, then of words; behind them a sentence that is too long may be cut. `1,000`, `20:30` and `1：2` have none. */
const CUTS = [/[,;:]\s+|[，；：、،؛](?!\d)\s*/g, /\s+/g] as const;

/** Of two parts with no blank between them: a word or a number was cut, in writing that has blanks between words. */
const isInsideWord = (before: string, behind: string): boolean =>
  INSIDE_BEFORE.test(before) && INSIDE_BEHIND.test(behind);

const INSIDE_BEFORE =
  /[\S--[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}，；：、،؛]]$/v;
const INSIDE_BEHIND =
  /^[\S--[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]]/v;

function* cut(sentence: string, charactersMax: number): Generator<string> {
  // Of the whole sentence: behind a cut `www.` would begin an address that it did not begin in the middle of a word.
  const spans = protectedSpans(sentence);
  let from = 0;
  while (sentence.length - from > charactersMax) {
    const behind = spans.map(({ start, end }) => ({ start: start - from, end: end - from }));
    const at = cutPlace(sentence.slice(from), charactersMax, behind);
    yield sentence.slice(from, from + at);
    from += at;
  }
  yield sentence.slice(from);
}

/** Never inside a protected part, which may be longer than what is allowed. */
function cutPlace(text: string, charactersMax: number, spans: readonly Span[]): number {
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
