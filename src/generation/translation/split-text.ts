import { findProtectedSpans, findUnbreakableSpans, type ProtectedSpan } from './protected-spans.ts';

/** A part of a text: a sentence to translate, or text that stays unchanged. Joined in order, the parts are the text. */
export type Piece =
  | { readonly type: 'kept'; readonly text: string }
  | {
      readonly type: 'sentence';
      readonly text: string;
      /** The sentence was cut inside a word or number: nothing may be inserted before this piece. */
      readonly continues?: true;
    };

export interface SplitOptions {
  /** Locale of the text, for sentence boundaries. */
  readonly locale: string;
  /** Length limit of a sentence in UTF-16 units. A longer one is cut, preferably at the end of a clause or word. */
  readonly charactersMax: number;
}

/**
 * Splits a text into sentences and the text between them: line breaks, spaces, list and heading marks, fenced code, and
 * lines without words. A sentence is trimmed and contains no line break.
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

  const isCode = createFenceDetector();
  for (const [line, ending] of splitLines(text)) {
    if (isCode(line) || !hasWords(line)) {
      keep(line + ending);
      continue;
    }
    const prefix = LINE_PREFIX.exec(line)?.[0] ?? '';
    keep(prefix);
    for (const [column, gap] of splitColumns(line.slice(prefix.length))) {
      for (const sentence of splitSentences(column, segmenter)) {
        let before = '';
        for (const part of cutSentence(sentence, charactersMax)) {
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

/** Indentation and marks of lists, quotations and headings. */
const LINE_PREFIX = /^\s*(?:(?:[-*+•·>]|#{1,6}|\d{1,4}[.)])[ \t]+)*/;

const LINE_END = /\r\n|[\n\r]/g;

/** Splits into lines with their line breaks. */
function* splitLines(text: string): Generator<readonly [line: string, ending: string]> {
  let at = 0;
  for (const match of text.matchAll(LINE_END)) {
    yield [text.slice(at, match.index), match[0]];
    at = match.index + match[0].length;
  }
  if (at < text.length) yield [text.slice(at), ''];
}

/** Splits at tabs and runs of spaces outside protected parts, each column with the gap after it. */
function* splitColumns(line: string): Generator<readonly [column: string, gap: string]> {
  const spans = findUnbreakableSpans(line);
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

/** A fence may follow marks of quotations and list items. */
const FENCE = /^(?<lead>\s*(?:(?:[-*+•·]|\d{1,4}[.)])[ \t]+|>[ \t]*)*)(?<fence>`{3,}(?=[^`]*$)|~{3,})/;
const QUOTATION = /^\s*>/;

/**
 * Creates a function that reports for each successive line whether it belongs to fenced code, fences included. An
 * unclosed fence extends to the end of the text, or to the end of its quotation.
 */
function createFenceDetector(): (line: string) => boolean {
  let openFence: { readonly fence: string; readonly isQuoted: boolean } | undefined;
  return (line) => {
    const { lead = '', fence } = FENCE.exec(line)?.groups ?? {};
    if (openFence?.isQuoted && !QUOTATION.test(line)) openFence = undefined;
    if (!openFence) {
      if (fence !== undefined) openFence = { fence, isQuoted: lead.includes('>') };
      return fence !== undefined;
    }
    if (fence?.startsWith(openFence.fence) && line.trimEnd() === lead + fence) openFence = undefined;
    return true;
  };
}

/** Whether letters remain without the protected parts. */
function hasWords(text: string): boolean {
  let at = 0;
  for (const { start, end } of findProtectedSpans(text)) {
    if (LETTER.test(text.slice(at, start))) return true;
    at = end;
  }
  return LETTER.test(text.slice(at));
}

const LETTER = /\p{L}/u;

/** Splits into sentences, ignoring sentence ends inside protected parts. */
function* splitSentences(line: string, segmenter: Intl.Segmenter): Generator<string> {
  const spans = findUnbreakableSpans(line);
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

/** Positions for cuts: ends of clauses, then of words. Punctuation inside `1,000`, `20:30` and `1：2` does not count. */
const CUT_PATTERNS = [/[,;:]\s+|[，；：、،؛](?!\d)\s*/g, /\s+/g] as const;

/** Whether a cut divides a word or number, in scripts with spaces between words. */
const isInsideWord = (before: string, after: string): boolean => INSIDE_BEFORE.test(before) && INSIDE_AFTER.test(after);

const INSIDE_BEFORE =
  /[\S--[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}，；：、،؛]]$/v;
const INSIDE_AFTER =
  /^[\S--[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]]/v;

function* cutSentence(sentence: string, charactersMax: number): Generator<string> {
  // Spans of the whole sentence: after a cut, `www.` would look like a URL although it stood inside a word.
  const spans = findUnbreakableSpans(sentence);
  let start = 0;
  while (sentence.length - start > charactersMax) {
    const remainingSpans = spans.map((span) => ({ start: span.start - start, end: span.end - start }));
    const at = findCutPosition(sentence.slice(start), charactersMax, remainingSpans);
    yield sentence.slice(start, start + at);
    start += at;
  }
  yield sentence.slice(start);
}

/** Never cuts inside a protected part, even if it exceeds the limit. */
function findCutPosition(text: string, charactersMax: number, spans: readonly ProtectedSpan[]): number {
  const isUnprotected = (position: number): boolean =>
    !spans.some(({ start, end }) => start < position && position < end);
  for (const pattern of CUT_PATTERNS) {
    const positions = Array.from(
      text.slice(0, charactersMax).matchAll(pattern),
      ({ index, 0: { length } }) => index + length,
    );
    const last = positions.findLast((position) => position > 0 && isUnprotected(position));
    if (last !== undefined) return last;
  }
  const crossed = spans.find(({ start, end }) => start < charactersMax && charactersMax < end);
  if (crossed) return crossed.start > 0 ? crossed.start : crossed.end;
  // Do not divide a surrogate pair.
  const code = text.charCodeAt(charactersMax);
  const isLowHalf = code >= 0xdc00 && code <= 0xdfff;
  return isLowHalf ? charactersMax + 1 : charactersMax;
}
