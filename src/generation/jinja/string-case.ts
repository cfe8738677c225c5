import { SPACE } from './lexer.ts';

/** Python's rules of upper and lower case, and its classes of characters. */

export const capitalize = (text: string): string => {
  const [first = ''] = text;
  return first.toUpperCase() + text.slice(first.length).toLowerCase();
};

/** Capitalizes each run of letters. */
export const toTitle = (text: string): string => text.replace(/[\p{L}\p{Mn}]+/gu, capitalize);

export const swapCase = (text: string): string =>
  Array.from(text, (c) => (c === c.toUpperCase() ? c.toLowerCase() : c.toUpperCase())).join('');

const LINE = String.raw`\r\n|[\n\v\f\r\x1c-\x1e\x85\u2028\u2029]`;

/** Splits at Python's line boundaries. The last line break starts no further line. */
export function splitLines(text: string, keepEnds: boolean): string[] {
  const lines: string[] = [];
  const breaks = new RegExp(LINE, 'g');
  let from = 0;
  for (const { 0: end, index } of text.matchAll(breaks)) {
    lines.push(text.slice(from, keepEnds ? index + end.length : index));
    from = index + end.length;
  }
  if (from < text.length) lines.push(text.slice(from));
  return lines;
}

const hasUpper = (text: string): boolean => /[\p{Lu}\p{Lt}]/u.test(text);
const hasLower = (text: string): boolean => /\p{Ll}/u.test(text);

export const isLower = (text: string): boolean => hasLower(text) && !hasUpper(text);
export const isUpper = (text: string): boolean => hasUpper(text) && !hasLower(text);

const IS_SPACE = new RegExp(`^[${SPACE}]+$`);

/** Methods of texts that test each character. */
export const CHARACTER_CLASSES: readonly (readonly [name: string, test: (text: string) => boolean])[] = [
  ['isdigit', (text) => /^[\p{Nd}\u00b2\u00b3\u00b9\u2070-\u2079\u2080-\u2089]+$/u.test(text)],
  ['isdecimal', (text) => /^\p{Nd}+$/u.test(text)],
  ['isnumeric', (text) => /^\p{N}+$/u.test(text)],
  ['isalpha', (text) => /^\p{L}+$/u.test(text)],
  ['isalnum', (text) => /^[\p{L}\p{N}]+$/u.test(text)],
  ['isspace', (text) => IS_SPACE.test(text)],
  ['isascii', (text) => !/[\u0080-\uffff]/.test(text)],
  ['isidentifier', (text) => /^[\p{L}\p{Nl}_][\p{L}\p{Nl}\p{Mn}\p{Mc}\p{Nd}\p{Pc}]*$/u.test(text)],
  ['isprintable', (text) => !/(?! )[\p{C}\p{Z}]/u.test(text)],
  ['islower', isLower],
  ['isupper', isUpper],
  ['istitle', (text) => /\p{L}/u.test(text) && toTitle(text) === text],
];
