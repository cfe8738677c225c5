import { REPEATED_CHARS_ALONE_MIN, REPEATED_CHARS_MIN, REPEATED_LINE_CHARS_MAX } from '../../core/limits.ts';
import type { Seen } from './seen-text.ts';

/** `open`: what comes will tell. */
export type Verdict = 'found' | 'open' | 'no';

/** Whether something that ends a text stands at a place of it. Places are looked at in their order, open ones again. */
export type Look = (seen: Seen, at: number) => Verdict;

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
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    const indent = index === 0 ? '' : line.slice(0, line.length - line.trimStart().length);
    if (index > 0) parts.push({ indent });
    const whole = line.slice(indent.length).trimEnd();
    const compared = whole.slice(0, REPEATED_LINE_CHARS_MAX);
    parts.push(compared);
    chars += compared.replaceAll(/\s/g, '').length;
    if (chars >= REPEATED_CHARS_ALONE_MIN) partsAtEnd = Math.min(partsAtEnd, parts.length);
    if (chars >= REPEATED_CHARS_MIN) return { parts, endsLine: compared === whole, partsAtEnd };
  }
  return chars >= REPEATED_CHARS_ALONE_MIN ? { parts, endsLine: true, partsAtEnd } : undefined;
}

/** Whether the pattern stands at a place. */
export function lookFor(pattern: LinePattern, seen: Seen, at: number): Verdict {
  const { text, before } = seen;
  const [first] = pattern.parts;
  // At the very beginning of a text, the end of the line before it stands in what comes before.
  if (typeof first === 'object' && before === '' && at === 0) {
    const verdict = match(pattern, seen, { from: seen.blankEnd(0), skipped: 1 });
    if (verdict !== 'no') return verdict;
  }
  if (typeof first === 'string' && isWord(first[0]) && isWord(text[at - 1] ?? before.at(-1))) return 'no';
  return match(pattern, seen, { from: at, skipped: 0 });
}

interface Tried {
  readonly from: number;
  /** Parts that need not be there. */
  readonly skipped: number;
}

function match({ parts, endsLine, partsAtEnd }: LinePattern, seen: Seen, { from, skipped }: Tried): Verdict {
  const { text, isLast } = seen;
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
    const end = seen.blankEnd(at);
    if (end === text.length) return unfinished(index);
    const line = seen.lineStart(at);
    if (line === undefined || (part.indent !== undefined && text.slice(line, end) !== part.indent)) return 'no';
    at = end;
  }
  if (!endsLine) return 'found';
  if (at === text.length) return isLast ? 'found' : 'open';
  return seen.blankEnd(at) > at ? 'found' : 'no';
}

const isWord = (character: string | undefined): boolean => character !== undefined && /[\p{L}\p{N}_]/u.test(character);
