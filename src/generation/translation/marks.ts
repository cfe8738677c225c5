import { protectedSpans } from './protected-spans.ts';

/** A text in which every protected part is a numbered mark. */
export interface Marked {
  readonly text: string;
  /** What stands for mark 1, 2, …; parts that are equal share a number. */
  readonly originals: readonly string[];
  /** The text as it was, part by part: what is translated and what is not. */
  readonly parts: readonly Part[];
}

export interface Part {
  readonly text: string;
  readonly isProtected: boolean;
}

/**
 * Puts a mark, `[1]`, in the place of every protected part. Where the text has such brackets of its own, these are
 * protected too, so that none is taken for another. What is not protected is composed (NFC), as terms are.
 */
export function mark(text: string): Marked {
  const parts = splitAtProtected(text);
  const numbers = new Map<string, number>();
  let marked = '';
  for (const part of parts) {
    if (!part.isProtected) {
      marked += part.text.normalize('NFC');
      continue;
    }
    const number = numbers.get(part.text) ?? numbers.size + 1;
    numbers.set(part.text, number);
    marked += markOf(number);
  }
  return { text: marked, originals: [...numbers.keys()], parts };
}

export const markOf = (number: number): string => `[${number}]`;

export const MARK = /\[ ?(\d{1,4}) ?\]/g;

function splitAtProtected(text: string): readonly Part[] {
  const spans = [
    ...protectedSpans(text),
    ...Array.from(text.matchAll(MARK), (match) => ({ start: match.index, end: match.index + match[0].length })),
  ].toSorted((one, other) => one.start - other.start);
  const parts: Part[] = [];
  let at = 0;
  for (const { start, end } of spans) {
    if (start < at) continue;
    if (start > at) parts.push({ text: text.slice(at, start), isProtected: false });
    parts.push({ text: text.slice(start, end), isProtected: true });
    at = end;
  }
  if (at < text.length) parts.push({ text: text.slice(at), isProtected: false });
  return parts;
}

/** The marked text with every mark back as what it stands for; undefined unless each is there exactly as often as before, and no tag is closed before it is opened. */
export function unmark(translated: string, { text, originals }: Marked): string | undefined {
  if (originals.length === 0) return translated;
  const wanted = countsOf(text);
  const found = countsOf(translated);
  if (wanted.size !== found.size) return undefined;
  for (const [number, count] of wanted) if (found.get(number) !== count) return undefined;
  if (isNested(text, originals) && !isNested(translated, originals)) return undefined;
  return withTagsClose(translated, text, originals).replaceAll(
    MARK,
    (_, number: string) => originals[Number(number) - 1] ?? '',
  );
}

/** Each tag that is closed is the one that was opened last. Tags that are only opened, such as `<br>`, may be. */
function isNested(marked: string, originals: readonly string[]): boolean {
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

/** Blanks that a model put between a tag and what it encloses are taken out, where the source has none. */
function withTagsClose(translated: string, source: string, originals: readonly string[]): string {
  let text = translated;
  for (const [at, original] of originals.entries()) {
    const mark = RegExp.escape(markOf(at + 1));
    if (/^<[A-Za-z]/.test(original) && !new RegExp(`${mark}\\s`).test(source))
      text = text.replaceAll(new RegExp(`(${mark}) +`, 'g'), '$1');
    if (original.startsWith('</') && !new RegExp(`\\s${mark}`).test(source))
      text = text.replaceAll(new RegExp(` +(${mark})`, 'g'), '$1');
  }
  return text;
}

function countsOf(text: string): ReadonlyMap<number, number> {
  const counts = new Map<number, number>();
  for (const match of text.matchAll(MARK)) counts.set(Number(match[1]), (counts.get(Number(match[1])) ?? 0) + 1);
  return counts;
}

/** The same for a text in which some are missing: what marks there are become what they stand for. */
export const unmarkWhatIsThere = (translated: string, { originals }: Marked): string =>
  translated.replaceAll(MARK, (mark, number: string) => originals[Number(number) - 1] ?? mark);
