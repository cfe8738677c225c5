import { PATTERN_CHARACTERS_MAX, PATTERN_DEPTH_MAX, PATTERN_PROPERTIES_MAX } from '../core/limits.ts';
import { readEscape, single } from './character-escape.ts';
import { invert, setOf, type CharacterSet } from './characters.ts';
import { PatternError } from './pattern-error.ts';
import type { PatternNode } from './pattern-node.ts';
import type { Work } from './work.ts';

/** ECMA-262: `.` without the flag s. */
const NOT_LINE_END = invert(setOf([...single(0x0a), ...single(0x0d), { from: 0x2028, to: 0x2029 }]));

/** Ours, of `Work`. */
const STEPS_PER_RANGE = 2;

/** An escape, or a class with all that is in it. */
const ESCAPE_OR_CLASS = /\\.|\[(?:\\.|[^\]\\])*\]/gsu;
const IDLE_ESCAPE = /^\\(?<idle>[^A-Za-z0-9^$\\.*+?()[\]{}|/])$/su;
const IDLE_ESCAPE_IN_CLASS = /\\(?:(?<idle>[^A-Za-z0-9^$\\.*+?()[\]{}|/-])|.)/gsu;

const GROUP_HEAD = /\((?:\?(?:(?<plain>:)|<(?<name>[^=!>][^>]*)>|(?<ahead>[=!])|(?<other>.)))?/suy;
const QUANTIFIER = /(?:(?<sign>[*+?])|\{(?<min>\d+)(?<to>,(?<max>\d*))?\})\??/y;

export interface PatternNeeds {
  readonly work: Work;
  /** `charactersWith`, or a memory of it. */
  readonly propertySet: (property: string) => CharacterSet;
}

/**
 * Reads a regular expression of ECMA-262 in unicode mode, as JSON Schema's `pattern` is one. Throws PatternError for
 * anything else and for what is no regular language (back references) or not worth it (lookbehind, word boundaries).
 */
export function parsePattern(written: string, { work, propertySet: find }: PatternNeeds): PatternNode {
  if (written.length > PATTERN_CHARACTERS_MAX) {
    throw new PatternError(`has ${written.length} characters; ${PATTERN_CHARACTERS_MAX} are allowed`);
  }
  const source = withoutIdleEscapes(written);
  checkSyntax(source);
  const propertySet = remember(find);
  let position = 0;
  const node = readChoice(0);
  if (position < source.length) throw unsupported();
  return node;

  function readChoice(depth: number): PatternNode {
    if (depth > PATTERN_DEPTH_MAX) throw new PatternError(`has groups nested deeper than ${PATTERN_DEPTH_MAX}`);
    const options = [readSequence(depth)];
    while (source[position] === '|') {
      position++;
      options.push(readSequence(depth));
    }
    const [only] = options;
    if (only !== undefined && options.length === 1) return only;
    const sets = options.flatMap((option) => (option.type === 'set' ? [option.set] : []));
    if (sets.length < options.length) return { type: 'choice', options };
    countRanges(sets);
    return { type: 'set', set: setOf(sets.flat()) };
  }

  /** They are sorted. */
  function countRanges(sets: readonly CharacterSet[]): void {
    for (const set of sets) work.add(STEPS_PER_RANGE * set.length);
  }

  function readSequence(depth: number): PatternNode {
    const items: PatternNode[] = [];
    while (position < source.length && source[position] !== '|' && source[position] !== ')') {
      items.push(readQuantifiers(readTerm(depth)));
    }
    const [only] = items;
    return only !== undefined && items.length === 1 ? only : { type: 'sequence', items };
  }

  function readTerm(depth: number): PatternNode {
    const character = String.fromCodePoint(source.codePointAt(position) ?? 0);
    switch (character) {
      case '(':
        return readGroup(depth);
      case '[':
        return { type: 'set', set: readClass() };
      case '\\':
        if (/[bB]/.test(source[position + 1] ?? '')) {
          throw new PatternError(`has a word boundary (\\${source[position + 1]}), which is not supported`);
        }
        return { type: 'set', set: readEscaped() };
      case '^':
      case '$':
        position++;
        return { type: 'edge', edge: character === '^' ? 'start' : 'end' };
      default:
        position += character.length;
        return { type: 'set', set: character === '.' ? NOT_LINE_END : single(character.codePointAt(0) ?? 0) };
    }
  }

  function readGroup(depth: number): PatternNode {
    const { ahead, other } = take(GROUP_HEAD);
    if (other === '<') throw new PatternError('has a lookbehind, which is not supported');
    if (other !== undefined) throw new PatternError(`has a group (?${other}…), which is not supported`);
    const item = readChoice(depth + 1);
    position++;
    return ahead === undefined ? item : { type: 'ahead', item, isWanted: ahead === '=' };
  }

  /** The syntax is known to be right, so there is at most one; lazy ones match the same texts. */
  function readQuantifiers(item: PatternNode): PatternNode {
    const found = tryTake(QUANTIFIER);
    if (found === undefined) return item;
    const { sign, min, to, max } = found;
    if (sign !== undefined)
      return { type: 'repeat', item, min: sign === '+' ? 1 : 0, max: sign === '?' ? 1 : Infinity };
    const least = Number(min);
    return { type: 'repeat', item, min: least, max: to === undefined ? least : max === '' ? Infinity : Number(max) };
  }

  function readClass(): CharacterSet {
    const isNegated = source[position + 1] === '^';
    position += isNegated ? 2 : 1;
    const sets: CharacterSet[] = [];
    while (source[position] !== ']') {
      const [from, start] = [readClassAtom(), position];
      if (source[start] !== '-' || source[start + 1] === ']') {
        sets.push(from);
        continue;
      }
      position++;
      sets.push(between(from, readClassAtom()));
    }
    position++;
    const set = setOf(sets.flat());
    countRanges(sets);
    return isNegated ? invert(set) : set;
  }

  function readClassAtom(): CharacterSet {
    if (source[position] === '\\') {
      if (/[b-]/.test(source[position + 1] ?? '')) {
        position += 2;
        return single(source[position - 1] === 'b' ? 0x08 : 0x2d);
      }
      return readEscaped();
    }
    const codePoint = source.codePointAt(position) ?? 0;
    position += codePoint > 0xffff ? 2 : 1;
    return single(codePoint);
  }

  function readEscaped(): CharacterSet {
    const { set, end } = readEscape(source, position + 1, propertySet);
    position = end;
    return set;
  }

  function take(pattern: RegExp): Readonly<Record<string, string | undefined>> {
    const found = tryTake(pattern);
    if (found === undefined) throw unsupported();
    return found;
  }

  function tryTake(pattern: RegExp): Readonly<Record<string, string | undefined>> | undefined {
    const sticky = new RegExp(pattern);
    sticky.lastIndex = position;
    const match = sticky.exec(source);
    if (match === null) return undefined;
    position += match[0].length;
    return match.groups ?? {};
  }

  function unsupported(): PatternError {
    return new PatternError(`is not supported from its character ${position + 1} on`);
  }
}

/** A backslash before a character that needs none, as in `\@`, is an error in unicode mode only: many schemas have it. */
function withoutIdleEscapes(source: string): string {
  return source.replace(ESCAPE_OR_CLASS, (piece) =>
    piece.startsWith('[')
      ? piece.replace(IDLE_ESCAPE_IN_CLASS, (escape, idle: string | undefined) => idle ?? escape)
      : piece.replace(IDLE_ESCAPE, '$<idle>'),
  );
}

/** The runtime's own parser judges; ours may then rely on the syntax. */
function checkSyntax(source: string): void {
  try {
    new RegExp(source, 'u');
  } catch (thrown) {
    const reason = thrown instanceof SyntaxError ? thrown.message.split(': ').at(-1) : 'it is too large';
    throw new PatternError(`is no regular expression of ECMA-262 in unicode mode: ${reason}`);
  }
}

/** Ends of a range in a class; surrogates alone are no characters, so a range may begin or end with an empty set. */
function between(from: CharacterSet, to: CharacterSet): CharacterSet {
  return setOf([{ from: from[0]?.from ?? 0xd800, to: to[0]?.to ?? 0xdfff }]);
}

function remember(find: (property: string) => CharacterSet): (property: string) => CharacterSet {
  const known = new Map<string, CharacterSet>();
  return (property) => {
    let set = known.get(property);
    if (set !== undefined) return set;
    if (known.size === PATTERN_PROPERTIES_MAX) {
      throw new PatternError(`has more than ${PATTERN_PROPERTIES_MAX} different character properties`);
    }
    known.set(property, (set = find(property)));
    return set;
  };
}
