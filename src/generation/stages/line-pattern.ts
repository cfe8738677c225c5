import { REPEATED_CHARS_ALONE_MIN, REPEATED_CHARS_MIN, REPEATED_LINE_CHARS_MAX } from '../../core/limits.ts';

export interface Place {
  /** Where it would begin. */
  readonly at: number;
  /** What the whole text, of which this is the end, has before it; empty at its beginning. */
  readonly before: string;
  /** Nothing more will come. */
  readonly isLast: boolean;
}

/** `open`: what comes will tell. */
export type Verdict = 'found' | 'open' | 'no';

/** Whether something that ends a text stands at a place of it. A place that was open is looked at again. */
export type Look = (text: string, place: Place) => Verdict;

/**
 * Lines to be found again in a text that grows. Between lines only the indentation of the next one counts, not how many
 * line ends or blanks there are: models vary them.
 */
export interface LinePattern {
  /** A string: these characters. An object: the end of a line and the indentation of the next; `undefined` is any. */
  readonly parts: readonly (string | { readonly indent: string | undefined })[];
  /** Nothing but a blank may follow. */
  readonly endsLine: boolean;
  /** So many parts are enough where the text ends with them. Infinity: never. */
  readonly partsAtEnd: number;
}

/** Code is put between fences by models that take the request for a conversation. */
export const FENCE: LinePattern = { parts: [{ indent: undefined }, '```'], endsLine: false, partsAtEnd: Infinity };

/**
 * The lines that a text begins with: so many that nobody writes them twice by chance. Undefined where it has not enough.
 */
export function beginningOf(text: string): LinePattern | undefined {
  const parts: (string | { readonly indent: string })[] = [];
  let chars = 0;
  let partsAtEnd = Infinity;
  for (const [piece] of text.trimEnd().matchAll(/[^\S\n]*\n\s*|[^\n]+?(?=[^\S\n]*\n|$)/g)) {
    if (piece.includes('\n')) {
      parts.push({ indent: piece.slice(piece.lastIndexOf('\n') + 1) });
      continue;
    }
    const compared = piece.slice(0, REPEATED_LINE_CHARS_MAX);
    parts.push(compared);
    chars += compared.replaceAll(/\s/g, '').length;
    if (chars >= REPEATED_CHARS_ALONE_MIN) partsAtEnd = Math.min(partsAtEnd, parts.length);
    if (chars >= REPEATED_CHARS_MIN) return { parts, endsLine: compared === piece, partsAtEnd };
  }
  return chars >= REPEATED_CHARS_ALONE_MIN ? { parts, endsLine: true, partsAtEnd } : undefined;
}

/** Whether the pattern stands at a place. */
export function lookFor(pattern: LinePattern, text: string, place: Place): Verdict {
  const { at, before, isLast } = place;
  const [first] = pattern.parts;
  // At the very beginning of a text, the end of the line before it stands in what comes before.
  if (typeof first === 'object' && before === '' && at === 0) {
    const start = text.search(/\S|$/);
    const verdict = match(pattern, { text, from: start, skipped: 1, isLast });
    if (verdict !== 'no') return verdict;
  }
  if (typeof first === 'string' && isWord(first[0]) && isWord(text[at - 1] ?? before.at(-1))) return 'no';
  return match(pattern, { text, from: at, skipped: 0, isLast });
}

interface Tried {
  readonly text: string;
  readonly from: number;
  /** Parts that need not be there. */
  readonly skipped: number;
  readonly isLast: boolean;
}

function match({ parts, endsLine, partsAtEnd }: LinePattern, { text, from, skipped, isLast }: Tried): Verdict {
  const unfinished = (matched: number): Verdict => (isLast ? (matched >= partsAtEnd ? 'found' : 'no') : 'open');
  let at = from;
  for (let index = skipped; index < parts.length; index++) {
    const part = parts[index] ?? '';
    if (typeof part === 'string') {
      const there = text.slice(at, at + part.length);
      if (there !== part) return there.length < part.length && part.startsWith(there) ? unfinished(index) : 'no';
      at += part.length;
      continue;
    }
    let end = at;
    while (end < text.length && isBlank(text[end])) end++;
    if (end === text.length) return unfinished(index);
    const line = text.lastIndexOf('\n', end - 1);
    if (line < at || (part.indent !== undefined && text.slice(line + 1, end) !== part.indent)) return 'no';
    at = end;
  }
  if (!endsLine) return 'found';
  if (at === text.length) return isLast ? 'found' : 'open';
  return isBlank(text[at]) ? 'found' : 'no';
}

const isBlank = (character: string | undefined): boolean => character !== undefined && /\s/.test(character);

const isWord = (character: string | undefined): boolean => character !== undefined && /[\p{L}\p{N}_]/u.test(character);
