import { findProtectedSpans, type ProtectedSpan } from './protected-spans.ts';
import type { TextRange } from './wording-search.ts';

/** A text whose protected parts are replaced by numbered marks. */
export interface ProtectedText {
  readonly text: string;
  /** Original of mark 1, 2, …; equal parts share a number, except the marks of links. */
  readonly originals: readonly string[];
  /** Numbers of the marks around the texts of links. */
  readonly links: readonly LinkMarks[];
  /** The original text, divided into protected and translatable parts. */
  readonly parts: readonly TextPart[];
}

export interface TextPart {
  readonly text: string;
  readonly isProtected: boolean;
  readonly link?: ProtectedSpan['link'];
}

interface LinkMarks {
  readonly open: number;
  readonly close: number;
}

/**
 * Replaces every protected part by a mark such as `[1]`. Brackets of the same form in the text are protected too, so
 * that they are not mistaken for marks. Unprotected text is NFC-normalized, as terms are.
 */
export function markProtected(text: string): ProtectedText {
  const parts = splitAtProtected(text);
  const numbers = new Map<string, number>();
  const originals: string[] = [];
  const links = new Map<number, { open: number; close: number }>();
  let marked = '';
  for (const part of parts) {
    if (!part.isProtected) {
      marked += part.text.normalize('NFC');
      continue;
    }
    const known = part.link ? undefined : numbers.get(part.text);
    const number = known ?? originals.push(part.text);
    if (!part.link) numbers.set(part.text, number);
    else {
      const marks = links.get(part.link.index) ?? { open: 0, close: 0 };
      links.set(part.link.index, { ...marks, [part.link.isOpening ? 'open' : 'close']: number });
    }
    marked += formatNumberMark(number);
  }
  return { text: marked, originals, links: [...links.values()], parts };
}

export const formatNumberMark = (number: number): string => `[${number}]`;

export const MARK = /\[ ?(\d{1,4}) ?\]/g;

function splitAtProtected(text: string): readonly TextPart[] {
  const spans: readonly ProtectedSpan[] = [
    ...findProtectedSpans(text),
    ...Array.from(text.matchAll(MARK), (match) => ({ start: match.index, end: match.index + match[0].length })),
  ].toSorted((one, other) => one.start - other.start);
  const parts: TextPart[] = [];
  let at = 0;
  for (const { start, end, ...span } of spans) {
    if (start < at) continue;
    if (start > at) parts.push({ text: text.slice(at, start), isProtected: false });
    parts.push({ ...span, text: text.slice(start, end), isProtected: true });
    at = end;
  }
  if (at < text.length) parts.push({ text: text.slice(at), isProtected: false });
  return parts;
}

/**
 * Replaces marks by their originals. Returns undefined unless each mark occurs as often as before, no tag closes before it
 * opens, and each link still surrounds its text.
 */
export function restoreMarks(translated: string, { text, originals, links }: ProtectedText): string | undefined {
  if (originals.length === 0) return translated;
  const wanted = countMarks(text);
  const found = countMarks(translated);
  if (wanted.size !== found.size) return undefined;
  for (const [number, count] of wanted) if (found.get(number) !== count) return undefined;
  if (hasValidTagOrder(text, originals) && !hasValidTagOrder(translated, originals)) return undefined;
  if (!hasValidLinks(translated, text, links)) return undefined;
  return removeTagGaps(translated, text, originals).replaceAll(
    MARK,
    (_, number: string) => originals[Number(number) - 1] ?? '',
  );
}

/** Each closing tag must match an open tag. Tags that never close, such as `<br>`, are allowed. */
function hasValidTagOrder(marked: string, originals: readonly string[]): boolean {
  const open: string[] = [];
  for (const [, number] of marked.matchAll(MARK)) {
    const [, slash, name = ''] = /^<(\/?)([A-Za-z][\w:.-]*)/.exec(originals[Number(number) - 1] ?? '') ?? [];
    if (slash === '') open.push(name);
    if (slash !== '/') continue;
    const at = open.lastIndexOf(name);
    if (at < 0) return false;
    open.length = at;
  }
  return true;
}

/** Links must close in the order in which they opened, and a link with a text must still have one. */
function hasValidLinks(translated: string, source: string, links: readonly LinkMarks[]): boolean {
  const openByClose = new Map(links.map(({ open, close }) => [close, open]));
  const opening = new Set(links.map(({ open }) => open));
  const openLinks: number[] = [];
  for (const [, mark] of translated.matchAll(MARK)) {
    const number = Number(mark);
    if (opening.has(number)) openLinks.push(number);
    const open = openByClose.get(number);
    if (open !== undefined && openLinks.pop() !== open) return false;
  }
  const before = findMarks(source);
  const after = findMarks(translated);
  return links.every((link) => !hasLinkText(source, before, link) || hasLinkText(translated, after, link));
}

/** Finds the first mark of each number. */
function findMarks(marked: string): ReadonlyMap<number, TextRange> {
  const marks = Array.from(marked.matchAll(MARK), ({ index, 0: mark, 1: number }) => {
    return [Number(number), { start: index, end: index + mark.length }] as const;
  });
  // A map keeps the last of several entries.
  return new Map(marks.toReversed());
}

const hasLinkText = (marked: string, marks: ReadonlyMap<number, TextRange>, { open, close }: LinkMarks): boolean =>
  /[\p{L}\p{N}]/u.test(marked.slice(marks.get(open)?.end, marks.get(close)?.start ?? 0));

/** Removes spaces that the model inserted between a tag or link and its content, unless the source has them. */
function removeTagGaps(translated: string, source: string, originals: readonly string[]): string {
  let text = translated;
  for (const [at, original] of originals.entries()) {
    const mark = RegExp.escape(formatNumberMark(at + 1));
    if (/^<[A-Za-z]|^!?\[$/.test(original) && !new RegExp(`${mark}\\s`).test(source))
      text = text.replaceAll(new RegExp(`(${mark}) +`, 'g'), '$1');
    if (/^<\/|^\][([]/.test(original) && !new RegExp(`\\s${mark}`).test(source))
      text = text.replaceAll(new RegExp(` +(${mark})`, 'g'), '$1');
  }
  return text;
}

function countMarks(text: string): ReadonlyMap<number, number> {
  const counts = new Map<number, number>();
  for (const match of text.matchAll(MARK)) counts.set(Number(match[1]), (counts.get(Number(match[1])) ?? 0) + 1);
  return counts;
}

/** Replaces the marks that are present, for a text in which some are missing. */
export const restoreAvailableMarks = (translated: string, { originals }: ProtectedText): string =>
  translated.replaceAll(MARK, (mark, number: string) => originals[Number(number) - 1] ?? mark);
