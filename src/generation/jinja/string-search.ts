import { SPACE } from './lexer.ts';
import type { Rendering } from './rendering.ts';

/** Searches in texts. Stand-ins of callers' characters count as what they stand for; results keep them. */

/** Returns the position in code units; -1 when the text does not contain the part. */
export function find(rendering: Rendering, text: string, part: string, isReverse: boolean): number {
  const [where, what] = [rendering.restore(text), rendering.restore(part)];
  return isReverse ? where.lastIndexOf(what) : where.indexOf(what);
}

export function count(rendering: Rendering, text: string, part: string): number {
  if (part === '') return [...text].length + 1;
  return rendering.restore(text).split(rendering.restore(part)).length - 1;
}

/** Returns the text before the separator, the separator, and the text after it. */
export function partition(rendering: Rendering, text: string, separator: string, isReverse: boolean): string[] {
  const index = find(rendering, text, separator, isReverse);
  if (index < 0) return isReverse ? ['', '', text] : [text, '', ''];
  return [text.slice(0, index), separator, text.slice(index + separator.length)];
}

/** Splits at a separator, at most `limit` times unless it is negative. */
export function split(
  rendering: Rendering,
  text: string,
  separator: string,
  limit: number,
  isReverse: boolean,
): string[] {
  const where = rendering.restore(text);
  const what = rendering.restore(separator);
  if (limit < 0 && where === text) return text.split(what);
  const parts: string[] = [];
  let [from, to] = [0, text.length];
  while (limit < 0 || parts.length < limit) {
    const index = isReverse
      ? to >= what.length
        ? where.lastIndexOf(what, to - what.length)
        : -1
      : where.indexOf(what, from);
    if (index < 0) break;
    if (isReverse) {
      parts.push(text.slice(index + what.length, to));
      to = index;
    } else {
      parts.push(text.slice(from, index));
      from = index + what.length;
    }
  }
  parts.push(text.slice(from, to));
  return isReverse ? parts.reverse() : parts;
}

const SPACES = new RegExp(`[${SPACE}]+`, 'g');
const LEADING = new RegExp(`^[${SPACE}]+`);

/** Splits at runs of white space; there are no empty parts. */
export function splitBlanks(text: string, limit: number, isReverse: boolean): string[] {
  const trimmed = stripBlanks(text, true, true);
  if (trimmed === '') return [];
  if (limit < 0) return trimmed.split(SPACES);
  const gaps = [...trimmed.matchAll(SPACES)];
  const used = isReverse ? gaps.slice(Math.max(0, gaps.length - limit)) : gaps.slice(0, limit);
  const parts: string[] = [];
  let from = 0;
  for (const { 0: gap, index } of used) {
    parts.push(trimmed.slice(from, index));
    from = index + gap.length;
  }
  parts.push(trimmed.slice(from));
  // The part that was not split keeps the blanks at its outer end.
  if (!isReverse) parts[parts.length - 1] += text.slice(text.length - trailingBlanks(text));
  else parts[0] = (LEADING.exec(text)?.[0] ?? '') + (parts[0] ?? '');
  return parts.map((part, i) =>
    i === (isReverse ? 0 : parts.length - 1) ? stripBlanks(part, !isReverse, isReverse) : part,
  );
}

const IS_SPACE = new RegExp(`[${SPACE}]`);

function trailingBlanks(text: string): number {
  let length = 0;
  while (length < text.length && IS_SPACE.test(text.charAt(text.length - 1 - length))) length++;
  return length;
}

const stripBlanks = (text: string, atStart: boolean, atEnd: boolean): string => {
  const start = atStart ? (LEADING.exec(text)?.[0].length ?? 0) : 0;
  return text.slice(start, atEnd && start < text.length ? text.length - trailingBlanks(text) : text.length);
};

/** Removes characters at the ends: white space, or those of `characters`. */
export function strip(
  rendering: Rendering,
  text: string,
  characters: string | undefined,
  atStart: boolean,
  atEnd: boolean,
): string {
  if (characters === undefined) return stripBlanks(text, atStart, atEnd);
  const set = new Set(rendering.restore(characters));
  const where = rendering.restore(text);
  // A pair of surrogates is one character.
  const units = (index: number): string => String.fromCodePoint(where.codePointAt(index) ?? 0);
  let [from, to] = [0, text.length];
  while (atStart && from < to && set.has(units(from))) from += units(from).length;
  while (atEnd && from < to) {
    const isPair = to - from > 1 && units(to - 2).length === 2;
    if (!set.has(units(isPair ? to - 2 : to - 1))) break;
    to -= isPair ? 2 : 1;
  }
  return text.slice(from, to);
}

/** Replaces at most `limit` occurrences unless it is negative. */
export function replace(rendering: Rendering, text: string, old: string, by: string, limit: number): string {
  const growth = old === '' ? text.length + 1 : count(rendering, text, old);
  rendering.spendChars(text.length + Math.min(growth, limit < 0 ? growth : limit) * by.length);
  if (old === '') {
    const characters = [...text];
    const times = limit < 0 ? characters.length + 1 : limit;
    let result = '';
    for (const [i, character] of characters.entries()) result += (i < times ? by : '') + character;
    return result + (characters.length < times ? by : '');
  }
  return growth === 0 ? text : split(rendering, text, old, limit, false).join(by);
}
