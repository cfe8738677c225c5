import { ANY_CHARACTER, invert, setOf, type CharacterRange, type CharacterSet } from './characters.ts';
import { PatternError } from './pattern-error.ts';

export interface Escape {
  readonly set: CharacterSet;
  /** After the escape. */
  readonly end: number;
}

const range = (from: string, to: string): CharacterRange => ({
  from: from.codePointAt(0) ?? 0,
  to: to.codePointAt(0) ?? 0,
});

const DIGIT = setOf([range('0', '9')]);
const WORD = setOf([range('0', '9'), range('A', 'Z'), range('_', '_'), range('a', 'z')]);

/** ECMA-262, WhiteSpace and LineTerminator. */
const SPACE = setOf([
  range('\t', '\r'),
  range(' ', ' '),
  range('\u00a0', '\u00a0'),
  range('\u1680', '\u1680'),
  range('\u2000', '\u200a'),
  range('\u2028', '\u2029'),
  range('\u202f', '\u202f'),
  range('\u205f', '\u205f'),
  range('\u3000', '\u3000'),
  range('\ufeff', '\ufeff'),
]);

const CLASSES: ReadonlyMap<string, CharacterSet> = new Map([
  ['d', DIGIT],
  ['D', invert(DIGIT)],
  ['w', WORD],
  ['W', invert(WORD)],
  ['s', SPACE],
  ['S', invert(SPACE)],
]);

const CONTROLS: ReadonlyMap<string, string> = new Map([
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
  ['v', '\v'],
  ['f', '\f'],
  ['0', '\0'],
]);

const HEX = /x(?<two>[0-9a-f]{2})|u(?<four>[0-9a-f]{4})|u\{(?<any>[0-9a-f]+)\}/iy;
/** Two escapes that are one character. */
const SURROGATES = /u(?<high>d[89ab][0-9a-f]{2})\\u(?<low>d[c-f][0-9a-f]{2})/iy;
const PROPERTY = /[pP]\{[^}]*\}/y;

/**
 * Reads what stands after a backslash, at `start`, in a regular expression that is known to be well-formed in unicode
 * mode. A lone surrogate is an empty set. `propertySet` is charactersWith or a memory of it. Throws PatternError for what is no character (back references).
 */
export function readEscape(source: string, start: number, propertySet: (property: string) => CharacterSet): Escape {
  const letter = String.fromCodePoint(source.codePointAt(start) ?? 0);
  const known = CLASSES.get(letter);
  if (known) return { set: known, end: start + 1 };
  if (/[1-9k]/.test(letter)) throw new PatternError(`has a back reference (\\${letter}), which is not supported`);
  const property = matchAt(PROPERTY, source, start)?.[0];
  if (property !== undefined) return { set: propertySet(property), end: start + property.length };
  const hex = matchAt(SURROGATES, source, start) ?? matchAt(HEX, source, start);
  if (hex) return { set: single(codePointOf(hex.groups ?? {})), end: start + hex[0].length };
  if (letter === 'c') return { set: single(source.charCodeAt(start + 1) % 32), end: start + 2 };
  const character = CONTROLS.get(letter) ?? letter;
  return { set: single(character.codePointAt(0) ?? 0), end: start + letter.length };
}

export function single(codePoint: number): CharacterSet {
  return setOf([{ from: codePoint, to: codePoint }]);
}

function matchAt(pattern: RegExp, source: string, start: number): RegExpExecArray | undefined {
  const sticky = new RegExp(pattern);
  sticky.lastIndex = start;
  return sticky.exec(source) ?? undefined;
}

function codePointOf({ two, four, any, high, low }: Readonly<Record<string, string | undefined>>): number {
  if (high !== undefined && low !== undefined) {
    return 0x10000 + (Number.parseInt(high, 16) - 0xd800) * 0x400 + Number.parseInt(low, 16) - 0xdc00;
  }
  return Number.parseInt(two ?? four ?? any ?? '0', 16);
}

/** The characters of `p{…}` or `P{…}`. Unicode's tables are the runtime's own: it reads all characters, in up to 15 ms. */
export function charactersWith(property: string): CharacterSet {
  const pattern = new RegExp(`(?:\\${property})+`, 'gu');
  const ranges = ASSIGNED.flatMap(({ from, to }) => {
    const units = from < PLANE ? 1 : 2;
    return [...textOf(from, to).matchAll(pattern)].map(({ index, 0: { length } }) => ({
      from: from + index / units,
      to: from + (index + length) / units - 1,
    }));
  });
  const isOne = new RegExp(`\\${property}`, 'u');
  const uniform = UNIFORM.filter(({ from }) => isOne.test(String.fromCodePoint(from)));
  return setOf([...ranges, ...uniform]);
}

const PLANE = 0x10000;

/** In each of these, a text is read as a whole. */
const ASSIGNED: readonly CharacterRange[] = [
  ...ANY_CHARACTER.map(({ from, to }) => ({ from, to: Math.min(to, PLANE - 1) })),
  ...[1, 2, 3, 14].map((plane) => ({ from: plane * PLANE, to: plane * PLANE + PLANE - 1 })),
];

/** Planes without a character of their own: unassigned or private, alike but for the noncharacters at their ends. */
const UNIFORM: readonly CharacterRange[] = [4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16].flatMap((plane) => [
  { from: plane * PLANE, to: plane * PLANE + PLANE - 3 },
  { from: plane * PLANE + PLANE - 2, to: plane * PLANE + PLANE - 1 },
]);

/** All characters from one to another, which are in the same plane. */
function textOf(from: number, to: number): string {
  const units = new Uint16Array((to - from + 1) * (from < PLANE ? 1 : 2));
  for (let next = from, at = 0; next <= to; next++) {
    if (next >= PLANE) units[at++] = 0xd800 + ((next - PLANE) >> 10);
    units[at++] = next < PLANE ? next : 0xdc00 + (next & 0x3ff);
  }
  return Buffer.from(units.buffer).toString('utf16le');
}
