import type { CharacterRange, CharacterSet } from './character-set.ts';

/** GBNF for one character of a set: a fixed text, or alternatives. */
export type CharacterSetText = { readonly literal: string } | { readonly alternatives: readonly string[] };

/** RFC 8259, section 7. Each character has one spelling only, so that a parse is never ambiguous. */
const SHORT_ESCAPES: ReadonlyMap<number, string> = new Map([
  [0x22, '"'],
  [0x5c, '\\'],
  [0x08, 'b'],
  [0x0c, 'f'],
  [0x0a, 'n'],
  [0x0d, 'r'],
  [0x09, 't'],
]);

/** Formats a set of characters that stand for themselves. The engine library does not support U+0000 in text. */
export function formatPlainSet(set: CharacterSet): CharacterSetText {
  const singleCharacter = getSingleCharacter(set);
  return singleCharacter === undefined
    ? { alternatives: [formatClass(set)] }
    : { literal: String.fromCodePoint(singleCharacter) };
}

/**
 * Formats a set of characters inside a JSON string: the shortest escape when one is required, otherwise the character.
 */
export function formatJsonSet(set: CharacterSet): CharacterSetText {
  const escaped = [...ESCAPED].filter((codePoint) => set.some(({ from, to }) => from <= codePoint && codePoint <= to));
  const singleCharacter = getSingleCharacter(set);
  if (singleCharacter !== undefined) {
    return {
      literal: escaped.length === 0 ? String.fromCodePoint(singleCharacter) : `\\${formatEscape(singleCharacter)}`,
    };
  }
  const alternatives = removeEscaped(set).length === 0 ? [] : [formatClass(removeEscaped(set))];
  if (escaped.length > 0) alternatives.push(formatEscapes(escaped));
  return { alternatives };
}

const ESCAPED: readonly number[] = [...Array.from({ length: 0x20 }, (_, codePoint) => codePoint), 0x22, 0x5c];

const formatEscape = (codePoint: number): string =>
  SHORT_ESCAPES.get(codePoint) ?? `u${codePoint.toString(16).padStart(4, '0')}`;

function getSingleCharacter([first, ...others]: CharacterSet): number | undefined {
  return first !== undefined && first.from === first.to && others.length === 0 ? first.from : undefined;
}

function removeEscaped(set: CharacterSet): CharacterSet {
  let left: readonly CharacterRange[] = set;
  for (const codePoint of ESCAPED) {
    left = left.flatMap(({ from, to }) =>
      codePoint < from || to < codePoint
        ? [{ from, to }]
        : [
            { from, to: codePoint - 1 },
            { from: codePoint + 1, to },
          ].filter((range) => range.from <= range.to),
    );
  }
  return left;
}

/** Formats escapes with their common parts written once: an alternative costs the engine more than a character. */
function formatEscapes(codePoints: readonly number[]): string {
  const escapes = codePoints.map(formatEscape);
  const short = escapes.filter((escape) => escape.length === 1);
  const byDigit = Map.groupBy(
    escapes.filter((escape) => escape.length > 1),
    (escape) => escape.charAt(3),
  );
  const long = [...byDigit].map(
    ([digit, group]) => `"${digit}" ${formatCharactersAsClass(group.map((escape) => escape.charAt(4)))}`,
  );
  const alternatives = short.length > 0 ? [formatCharactersAsClass(short)] : [];
  if (long.length > 0) alternatives.push(`"u00" ${joinAlternatives(long)}`);
  return `"\\\\" ${joinAlternatives(alternatives)}`;
}

/** Joins alternatives so that they can stand beside other elements. */
export const joinAlternatives = (alternatives: readonly string[]): string =>
  alternatives.length === 1 ? alternatives.join() : `(${alternatives.join(' | ')})`;

function formatCharactersAsClass(characters: readonly string[]): string {
  const ranges: CharacterRange[] = [];
  for (const codePoint of characters.map((character) => character.charCodeAt(0)).toSorted((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last?.to === codePoint - 1) ranges[ranges.length - 1] = { from: last.from, to: codePoint };
    else ranges.push({ from: codePoint, to: codePoint });
  }
  return formatClass(ranges);
}

function formatClass(set: CharacterSet): string {
  const parts = set.map(({ from, to }) => {
    if (to === from) return formatClassCharacter(from);
    return `${formatClassCharacter(from)}${to === from + 1 ? '' : '-'}${formatClassCharacter(to)}`;
  });
  return `[${parts.join('')}]`;
}

/**
 * Writes characters other than plain ASCII, and special ones, as numbers. `^` is special only at the start of a class.
 */
function formatClassCharacter(codePoint: number): string {
  const character = String.fromCodePoint(codePoint);
  if (/^[\w !#-,./:-@`{|}~]$/.test(character)) return character;
  if (/^["[\]\\-]$/.test(character)) return `\\${character}`;
  const hex = codePoint.toString(16).toUpperCase();
  if (codePoint <= 0xff) return `\\x${hex.padStart(2, '0')}`;
  return codePoint <= 0xffff ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
}
