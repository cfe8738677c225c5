import type { CharacterRange, CharacterSet } from './characters.ts';

/** How one of a set of characters is written in GBNF: always the same text, or one of several alternatives. */
export type CharacterText = { readonly literal: string } | { readonly alternatives: readonly string[] };

/** RFC 8259, section 7; a character has one spelling only, so that a parser never has to guess. */
const SHORT_ESCAPES: ReadonlyMap<number, string> = new Map([
  [0x22, '"'],
  [0x5c, '\\'],
  [0x08, 'b'],
  [0x0c, 'f'],
  [0x0a, 'n'],
  [0x0d, 'r'],
  [0x09, 't'],
]);

/** As they are; U+0000 is no text for the engine library. */
export function plainText(set: CharacterSet): CharacterText {
  const single = singleOf(set);
  return single === undefined ? { alternatives: [classOf(set)] } : { literal: String.fromCodePoint(single) };
}

/** As they stand inside a JSON string: the shortest escape where one is needed, themselves otherwise. */
export function jsonText(set: CharacterSet): CharacterText {
  const escaped = [...ESCAPED].filter((codePoint) => set.some(({ from, to }) => from <= codePoint && codePoint <= to));
  const single = singleOf(set);
  if (single !== undefined) {
    return { literal: escaped.length === 0 ? String.fromCodePoint(single) : `\\${escapeOf(single)}` };
  }
  const alternatives = withoutEscaped(set).length === 0 ? [] : [classOf(withoutEscaped(set))];
  if (escaped.length > 0) alternatives.push(escapesText(escaped));
  return { alternatives };
}

const ESCAPED: readonly number[] = [...Array.from({ length: 0x20 }, (_, codePoint) => codePoint), 0x22, 0x5c];

const escapeOf = (codePoint: number): string =>
  SHORT_ESCAPES.get(codePoint) ?? `u${codePoint.toString(16).padStart(4, '0')}`;

function singleOf([first, ...others]: CharacterSet): number | undefined {
  return first !== undefined && first.from === first.to && others.length === 0 ? first.from : undefined;
}

function withoutEscaped(set: CharacterSet): CharacterSet {
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

/** What is common to several escapes is written once: a choice costs the engine more than a character. */
function escapesText(codePoints: readonly number[]): string {
  const escapes = codePoints.map(escapeOf);
  const short = escapes.filter((escape) => escape.length === 1);
  const byDigit = Map.groupBy(
    escapes.filter((escape) => escape.length > 1),
    (escape) => escape.charAt(3),
  );
  const long = [...byDigit].map(
    ([digit, group]) => `"${digit}" ${classOfEach(group.map((escape) => escape.charAt(4)))}`,
  );
  const alternatives = short.length > 0 ? [classOfEach(short)] : [];
  if (long.length > 0) alternatives.push(`"u00" ${inBrackets(long)}`);
  return `"\\\\" ${inBrackets(alternatives)}`;
}

/** One of the alternatives, where it stands among other things. */
export const inBrackets = (alternatives: readonly string[]): string =>
  alternatives.length === 1 ? alternatives.join() : `(${alternatives.join(' | ')})`;

function classOfEach(characters: readonly string[]): string {
  const ranges: CharacterRange[] = [];
  for (const codePoint of characters.map((character) => character.charCodeAt(0)).toSorted((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last?.to === codePoint - 1) ranges[ranges.length - 1] = { from: last.from, to: codePoint };
    else ranges.push({ from: codePoint, to: codePoint });
  }
  return classOf(ranges);
}

function classOf(set: CharacterSet): string {
  const parts = set.map(({ from, to }) => {
    if (to === from) return inClass(from);
    return `${inClass(from)}${to === from + 1 ? '' : '-'}${inClass(to)}`;
  });
  return `[${parts.join('')}]`;
}

/** What is neither plain ASCII nor special in a class is written as a number. `^` is special at the beginning only. */
function inClass(codePoint: number): string {
  const character = String.fromCodePoint(codePoint);
  if (/^[\w !#-,./:-@`{|}~]$/.test(character)) return character;
  if (/^["[\]\\-]$/.test(character)) return `\\${character}`;
  const hex = codePoint.toString(16).toUpperCase();
  if (codePoint <= 0xff) return `\\x${hex.padStart(2, '0')}`;
  return codePoint <= 0xffff ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
}
