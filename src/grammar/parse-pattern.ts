import { PATTERN_CHARS_MAX, PATTERN_DEPTH_MAX, PATTERN_PROPERTIES_MAX } from './limits.ts';
import { parseEscape, createSingleCharacterSet } from './character-escape.ts';
import { invertSet, createCharacterSet, type CharacterSet } from './character-set.ts';
import { PatternError } from './pattern-error.ts';
import type { PatternNode } from './pattern-node.ts';
import type { WorkBudget } from './work-budget.ts';

/** Characters of `.` without the flag s (ECMA-262). */
const NOT_LINE_END = invertSet(
  createCharacterSet([
    ...createSingleCharacterSet(0x0a),
    ...createSingleCharacterSet(0x0d),
    { from: 0x2028, to: 0x2029 },
  ]),
);

/** Work steps per character range. */
const STEPS_PER_RANGE = 2;

/** Matches an escape, or a class with its content. */
const ESCAPE_OR_CLASS = /\\.|\[(?:\\.|[^\]\\])*\]/gsu;
const IDLE_ESCAPE = /^\\(?<idle>[^A-Za-z0-9^$\\.*+?()[\]{}|/])$/su;
const IDLE_ESCAPE_IN_CLASS = /\\(?:(?<idle>[^A-Za-z0-9^$\\.*+?()[\]{}|/-])|.)/gsu;

const GROUP_HEAD = /\((?:\?(?:(?<plain>:)|<(?<name>[^=!>][^>]*)>|(?<ahead>[=!])|(?<other>.)))?/suy;
const QUANTIFIER = /(?:(?<sign>[*+?])|\{(?<min>\d+)(?<to>,(?<max>\d*))?\})\??/y;

export interface PatternDeps {
  readonly work: WorkBudget;
  /** `findCharactersWithProperty`, or a cache of it. */
  readonly getPropertySet: (property: string) => CharacterSet;
}

/**
 * Parses an ECMA-262 regular expression in Unicode mode, the syntax of JSON Schema's `pattern`.
 * @throws PatternError for invalid syntax, for back references (not regular), and for lookbehinds and word boundaries.
 */
export function parsePattern(original: string, { work, getPropertySet: findProperty }: PatternDeps): PatternNode {
  if (original.length > PATTERN_CHARS_MAX) {
    throw new PatternError(`has ${original.length} characters; ${PATTERN_CHARS_MAX} are allowed`);
  }
  const source = removeIdleEscapes(original);
  checkSyntax(source);
  const getPropertySet = createPropertyCache(findProperty);
  let position = 0;
  const node = parseChoice(0);
  if (position < source.length) throw createUnsupportedError();
  return node;

  function parseChoice(depth: number): PatternNode {
    if (depth > PATTERN_DEPTH_MAX) throw new PatternError(`has groups nested deeper than ${PATTERN_DEPTH_MAX}`);
    const options = [parseSequence(depth)];
    while (source[position] === '|') {
      position++;
      options.push(parseSequence(depth));
    }
    const [only] = options;
    if (only !== undefined && options.length === 1) return only;
    const sets = options.flatMap((option) => (option.type === 'set' ? [option.set] : []));
    if (sets.length < options.length) return { type: 'choice', options };
    countRanges(sets);
    return { type: 'set', set: createCharacterSet(sets.flat()) };
  }

  /** Counts the work of sorting the ranges. */
  function countRanges(sets: readonly CharacterSet[]): void {
    for (const set of sets) work.add(STEPS_PER_RANGE * set.length);
  }

  function parseSequence(depth: number): PatternNode {
    const items: PatternNode[] = [];
    while (position < source.length && source[position] !== '|' && source[position] !== ')') {
      items.push(parseQuantifier(parseTerm(depth)));
    }
    const [only] = items;
    return only !== undefined && items.length === 1 ? only : { type: 'sequence', items };
  }

  function parseTerm(depth: number): PatternNode {
    const character = String.fromCodePoint(source.codePointAt(position) ?? 0);
    switch (character) {
      case '(':
        return parseGroup(depth);
      case '[':
        return { type: 'set', set: parseClass() };
      case '\\':
        if (/[bB]/.test(source[position + 1] ?? '')) {
          throw new PatternError(`has a word boundary (\\${source[position + 1]}), which is not supported`);
        }
        return { type: 'set', set: parseEscapedSet() };
      case '^':
      case '$':
        position++;
        return { type: 'anchor', anchor: character === '^' ? 'start' : 'end' };
      default:
        position += character.length;
        return {
          type: 'set',
          set: character === '.' ? NOT_LINE_END : createSingleCharacterSet(character.codePointAt(0) ?? 0),
        };
    }
  }

  function parseGroup(depth: number): PatternNode {
    const { ahead, other } = readMatch(GROUP_HEAD);
    if (other === '<') throw new PatternError('has a lookbehind, which is not supported');
    if (other !== undefined) throw new PatternError(`has a group (?${other}…), which is not supported`);
    const item = parseChoice(depth + 1);
    position++;
    return ahead === undefined ? item : { type: 'lookahead', item, isPositive: ahead === '=' };
  }

  /** Parses at most one quantifier, since the syntax is valid. Lazy quantifiers match the same texts. */
  function parseQuantifier(item: PatternNode): PatternNode {
    const found = tryReadMatch(QUANTIFIER);
    if (found === undefined) return item;
    const { sign, min, to, max } = found;
    if (sign !== undefined)
      return { type: 'repeat', item, min: sign === '+' ? 1 : 0, max: sign === '?' ? 1 : Infinity };
    const least = Number(min);
    return { type: 'repeat', item, min: least, max: to === undefined ? least : max === '' ? Infinity : Number(max) };
  }

  function parseClass(): CharacterSet {
    const isNegated = source[position + 1] === '^';
    position += isNegated ? 2 : 1;
    const sets: CharacterSet[] = [];
    while (source[position] !== ']') {
      const [from, start] = [parseClassAtom(), position];
      if (source[start] !== '-' || source[start + 1] === ']') {
        sets.push(from);
        continue;
      }
      position++;
      sets.push(createRangeSet(from, parseClassAtom()));
    }
    position++;
    const set = createCharacterSet(sets.flat());
    countRanges(sets);
    return isNegated ? invertSet(set) : set;
  }

  function parseClassAtom(): CharacterSet {
    if (source[position] === '\\') {
      if (/[b-]/.test(source[position + 1] ?? '')) {
        position += 2;
        return createSingleCharacterSet(source[position - 1] === 'b' ? 0x08 : 0x2d);
      }
      return parseEscapedSet();
    }
    const codePoint = source.codePointAt(position) ?? 0;
    position += codePoint > 0xffff ? 2 : 1;
    return createSingleCharacterSet(codePoint);
  }

  function parseEscapedSet(): CharacterSet {
    const { set, end } = parseEscape(source, position + 1, getPropertySet);
    position = end;
    return set;
  }

  function readMatch(pattern: RegExp): Readonly<Record<string, string | undefined>> {
    const found = tryReadMatch(pattern);
    if (found === undefined) throw createUnsupportedError();
    return found;
  }

  function tryReadMatch(pattern: RegExp): Readonly<Record<string, string | undefined>> | undefined {
    const sticky = new RegExp(pattern);
    sticky.lastIndex = position;
    const match = sticky.exec(source);
    if (match === null) return undefined;
    position += match[0].length;
    return match.groups ?? {};
  }

  function createUnsupportedError(): PatternError {
    return new PatternError(`is not supported from character ${position + 1} on`);
  }
}

/** Removes needless backslashes, as in `\@`. Many schemas have them, although Unicode mode rejects them. */
function removeIdleEscapes(source: string): string {
  return source.replace(ESCAPE_OR_CLASS, (piece) =>
    piece.startsWith('[')
      ? piece.replace(IDLE_ESCAPE_IN_CLASS, (escape, idle: string | undefined) => idle ?? escape)
      : piece.replace(IDLE_ESCAPE, '$<idle>'),
  );
}

/** Validates the syntax by the runtime's own parser, so that this parser can rely on it. */
function checkSyntax(source: string): void {
  try {
    new RegExp(source, 'u');
  } catch (thrown) {
    const reason = thrown instanceof SyntaxError ? thrown.message.split(': ').at(-1) : 'it is too large';
    throw new PatternError(`is not a valid ECMA-262 regular expression in Unicode mode: ${reason}`);
  }
}

/** Creates a range in a class. A lone surrogate gives an empty set, so that either end may be empty. */
function createRangeSet(from: CharacterSet, to: CharacterSet): CharacterSet {
  return createCharacterSet([{ from: from[0]?.from ?? 0xd800, to: to[0]?.to ?? 0xdfff }]);
}

function createPropertyCache(find: (property: string) => CharacterSet): (property: string) => CharacterSet {
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
