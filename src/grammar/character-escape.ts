import {
  ANY_CHARACTER,
  invertSet,
  createCharacterSet,
  type CharacterRange,
  type CharacterSet,
} from './character-set.ts';
import { PatternError } from './pattern-error.ts';

export interface CharacterEscape {
  readonly set: CharacterSet;
  /** Index after the escape. */
  readonly end: number;
}

const range = (from: string, to: string): CharacterRange => ({
  from: from.codePointAt(0) ?? 0,
  to: to.codePointAt(0) ?? 0,
});

const DIGIT = createCharacterSet([range('0', '9')]);
const WORD = createCharacterSet([range('0', '9'), range('A', 'Z'), range('_', '_'), range('a', 'z')]);

/** WhiteSpace and LineTerminator of ECMA-262. */
const SPACE = createCharacterSet([
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
  ['D', invertSet(DIGIT)],
  ['w', WORD],
  ['W', invertSet(WORD)],
  ['s', SPACE],
  ['S', invertSet(SPACE)],
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
/** Two escapes that form one character. */
const SURROGATES = /u(?<high>d[89ab][0-9a-f]{2})\\u(?<low>d[c-f][0-9a-f]{2})/iy;
const PROPERTY = /[pP]\{[^}]*\}/y;

/**
 * Parses the escape whose backslash precedes `start`, in a regular expression that is well-formed in Unicode mode. A
 * lone surrogate gives an empty set. `getPropertySet` is `findCharactersWithProperty`, or a cache of it.
 * @throws PatternError for a back reference.
 */
export function parseEscape(
  source: string,
  start: number,
  getPropertySet: (property: string) => CharacterSet,
): CharacterEscape {
  const letter = String.fromCodePoint(source.codePointAt(start) ?? 0);
  const known = CLASSES.get(letter);
  if (known) return { set: known, end: start + 1 };
  if (/[1-9k]/.test(letter)) throw new PatternError(`has a back reference (\\${letter}), which is not supported`);
  const property = matchStickyAt(PROPERTY, source, start)?.[0];
  if (property !== undefined) return { set: getPropertySet(property), end: start + property.length };
  const hex = matchStickyAt(SURROGATES, source, start) ?? matchStickyAt(HEX, source, start);
  if (hex) return { set: createSingleCharacterSet(parseCodePoint(hex.groups ?? {})), end: start + hex[0].length };
  if (letter === 'c') return { set: createSingleCharacterSet(source.charCodeAt(start + 1) % 32), end: start + 2 };
  const character = CONTROLS.get(letter) ?? letter;
  return { set: createSingleCharacterSet(character.codePointAt(0) ?? 0), end: start + letter.length };
}

export function createSingleCharacterSet(codePoint: number): CharacterSet {
  return createCharacterSet([{ from: codePoint, to: codePoint }]);
}

function matchStickyAt(pattern: RegExp, source: string, start: number): RegExpExecArray | undefined {
  const sticky = new RegExp(pattern);
  sticky.lastIndex = start;
  return sticky.exec(source) ?? undefined;
}

function parseCodePoint({ two, four, any, high, low }: Readonly<Record<string, string | undefined>>): number {
  if (high !== undefined && low !== undefined) {
    return 0x10000 + (Number.parseInt(high, 16) - 0xd800) * 0x400 + Number.parseInt(low, 16) - 0xdc00;
  }
  return Number.parseInt(two ?? four ?? any ?? '0', 16);
}

/** Returns the characters of `p{…}` or `P{…}` from the runtime's Unicode tables. Tests all characters: up to 15 ms. */
export function findCharactersWithProperty(property: string): CharacterSet {
  const pattern = new RegExp(`(?:\\${property})+`, 'gu');
  const ranges = ASSIGNED.flatMap(({ from, to }) => {
    const units = from < PLANE ? 1 : 2;
    return [...createPlaneText(from, to).matchAll(pattern)].map(({ index, 0: { length } }) => ({
      from: from + index / units,
      to: from + (index + length) / units - 1,
    }));
  });
  const isOne = new RegExp(`\\${property}`, 'u');
  const uniform = UNIFORM.filter(({ from }) => isOne.test(String.fromCodePoint(from)));
  return createCharacterSet([...ranges, ...uniform]);
}

const PLANE = 0x10000;

/** Ranges whose characters are tested in one text each. */
const ASSIGNED: readonly CharacterRange[] = [
  ...ANY_CHARACTER.map(({ from, to }) => ({ from, to: Math.min(to, PLANE - 1) })),
  ...[1, 2, 3, 14].map((plane) => ({ from: plane * PLANE, to: plane * PLANE + PLANE - 1 })),
];

/** Planes without assigned characters: equal in all properties, except for the noncharacters at their ends. */
const UNIFORM: readonly CharacterRange[] = [4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16].flatMap((plane) => [
  { from: plane * PLANE, to: plane * PLANE + PLANE - 3 },
  { from: plane * PLANE + PLANE - 2, to: plane * PLANE + PLANE - 1 },
]);

/** Returns all characters of a range within one plane. */
function createPlaneText(from: number, to: number): string {
  const units = new Uint16Array((to - from + 1) * (from < PLANE ? 1 : 2));
  for (let next = from, at = 0; next <= to; next++) {
    if (next >= PLANE) units[at++] = 0xd800 + ((next - PLANE) >> 10);
    units[at++] = next < PLANE ? next : 0xdc00 + (next & 0x3ff);
  }
  return Buffer.from(units.buffer).toString('utf16le');
}
