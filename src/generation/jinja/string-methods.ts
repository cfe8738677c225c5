import type { Method } from './collection-methods.ts';
import { likeValue } from './html.ts';
import { countCodePoints, elements } from './iterate.ts';
import { Arguments } from './parameters.ts';
import type { Rendering } from './rendering.ts';
import { CHARACTER_CLASSES, capitalize, splitLines, swapCase, toTitle } from './string-case.ts';
import { formatBraces } from './brace-format.ts';
import { count, find, partition, replace, split, splitBlanks, strip } from './string-search.ts';
import { joinTexts } from './text.ts';
import { TemplateError } from './template-error.ts';
import { getText, getTypeName, isString, Tuple, typeError, type Value } from './values.ts';

type Run = (rendering: Rendering, text: string, args: Arguments) => Value;

/** A method with named parameters; texts that it returns are of the same kind as the object's. */
const method =
  (name: string, names: readonly string[], required: number, run: Run): Method =>
  (rendering, self, positional, keyword) => {
    const text = isString(self) ? getText(self) : '';
    const result = run(rendering, text, new Arguments(name, positional, keyword, names, required));
    return typeof result === 'string' ? likeValue(self, result) : result;
  };

const simple =
  (run: (text: string) => Value): Run =>
  (_rendering, text) =>
    run(text);

/** Compares the start or the end with a text or any of a tuple. */
function matchesAny(args: Arguments, name: string, matches: (part: string) => boolean): boolean {
  const given = args.getOrNone(0);
  const parts = given instanceof Tuple ? given.items : [given];
  return parts.some((part) => {
    if (!isString(part)) throw typeError(`${name} first arg must be str or a tuple of str, not ${getTypeName(part)}`);
    return matches(getText(part));
  });
}

/** Cuts a text at positions that count code points. */
function cut(text: string, args: Arguments, first: number): { part: string; offset: number } {
  if (args.get(first) === undefined || args.get(first) === null) return { part: text, offset: 0 };
  const characters = [...text];
  const toPosition = (value: number): number => (value < 0 ? Math.max(0, characters.length + value) : value);
  const offset = toPosition(args.integer(first, 0));
  const stop = args.getOrNone(first + 1) === null ? characters.length : toPosition(args.integer(first + 1, 0));
  return { part: characters.slice(offset, stop).join(''), offset };
}

const finder =
  (name: string, isReverse: boolean, mustExist: boolean): Run =>
  (rendering, text, args) => {
    const { part, offset } = cut(text, args, 1);
    const index = find(rendering, part, args.text(0), isReverse);
    if (index < 0 && mustExist) throw new TemplateError('ValueError', 'substring not found');
    return index < 0 ? -1 : countCodePoints(part.slice(0, index)) + offset;
  };

const splitter =
  (isReverse: boolean): Run =>
  (rendering, text, args) => {
    const limit = args.integer(1, -1);
    if (args.getOrNone(0) === null) return splitBlanks(text, limit, isReverse);
    const separator = args.text(0);
    if (separator === '') throw new TemplateError('ValueError', 'empty separator');
    return split(rendering, text, separator, limit, isReverse);
  };

const stripper =
  (atStart: boolean, atEnd: boolean): Run =>
  (rendering, text, args) =>
    strip(rendering, text, args.getOrNone(0) === null ? undefined : args.text(0), atStart, atEnd);

const filler =
  (toSides: (missing: number, width: number) => readonly [left: number, right: number]): Run =>
  (rendering, text, args) => {
    const width = args.integer(0, 0);
    rendering.spendChars(width);
    const fill = args.text(1, ' ');
    if (countCodePoints(fill) !== 1) throw typeError('The fill character must be exactly one character long');
    const missing = Math.max(0, width - countCodePoints(text));
    const [left, right] = toSides(missing, width);
    return fill.repeat(left) + text + fill.repeat(right);
  };

const join: Run = (rendering, text, args) => {
  const texts: string[] = [];
  for (const item of elements(args.getOrNone(0))) {
    if (!isString(item))
      throw typeError(`sequence item ${texts.length}: expected str instance, ${getTypeName(item)} found`);
    texts.push(getText(item));
  }
  return joinTexts(rendering, texts, text);
};

const partitioner =
  (isReverse: boolean): Run =>
  (rendering, text, args) => {
    if (args.text(0) === '') throw new TemplateError('ValueError', 'empty separator');
    return new Tuple(partition(rendering, text, args.text(0), isReverse));
  };

const zeroFill: Run = (rendering, text, args) => {
  const width = args.integer(0, 0);
  rendering.spendChars(width);
  const sign = /^[-+]/.exec(text)?.[0] ?? '';
  const missing = Math.max(0, width - countCodePoints(text));
  return sign + '0'.repeat(missing) + text.slice(sign.length);
};

const SEARCH = ['sub', 'start', 'end'];

const METHODS: readonly (readonly [name: string, names: readonly string[], required: number, run: Run])[] = [
  ['upper', [], 0, simple((text) => text.toUpperCase())],
  ['lower', [], 0, simple((text) => text.toLowerCase())],
  ['casefold', [], 0, simple((text) => text.toLowerCase().replaceAll('ß', 'ss'))],
  ['capitalize', [], 0, simple(capitalize)],
  ['title', [], 0, simple(toTitle)],
  ['swapcase', [], 0, simple(swapCase)],
  ['strip', ['chars'], 0, stripper(true, true)],
  ['lstrip', ['chars'], 0, stripper(true, false)],
  ['rstrip', ['chars'], 0, stripper(false, true)],
  ['split', ['sep', 'maxsplit'], 0, splitter(false)],
  ['rsplit', ['sep', 'maxsplit'], 0, splitter(true)],
  ['splitlines', ['keepends'], 0, (_, text, args) => splitLines(text, args.isTrue(0))],
  ['partition', ['sep'], 1, partitioner(false)],
  ['rpartition', ['sep'], 1, partitioner(true)],
  [
    'replace',
    ['old', 'new', 'count'],
    2,
    (rendering, text, args) => replace(rendering, text, args.text(0), args.text(1), args.integer(2, -1)),
  ],
  ['join', ['iterable'], 1, join],
  ['find', SEARCH, 1, finder('find', false, false)],
  ['rfind', SEARCH, 1, finder('rfind', true, false)],
  ['index', SEARCH, 1, finder('index', false, true)],
  ['rindex', SEARCH, 1, finder('rindex', true, true)],
  ['count', SEARCH, 1, (rendering, text, args) => count(rendering, cut(text, args, 1).part, args.text(0))],
  [
    'startswith',
    ['prefix', 'start', 'end'],
    1,
    (rendering, text, args) => {
      const start = rendering.restore(cut(text, args, 1).part);
      return matchesAny(args, 'startswith', (part) => start.startsWith(rendering.restore(part)));
    },
  ],
  [
    'endswith',
    ['suffix', 'start', 'end'],
    1,
    (rendering, text, args) => {
      const end = rendering.restore(cut(text, args, 1).part);
      return matchesAny(args, 'endswith', (part) => end.endsWith(rendering.restore(part)));
    },
  ],
  [
    'removeprefix',
    ['prefix'],
    1,
    (rendering, text, args) =>
      rendering.restore(text).startsWith(rendering.restore(args.text(0))) ? text.slice(args.text(0).length) : text,
  ],
  [
    'removesuffix',
    ['suffix'],
    1,
    (rendering, text, args) =>
      args.text(0) !== '' && rendering.restore(text).endsWith(rendering.restore(args.text(0)))
        ? text.slice(0, -args.text(0).length)
        : text,
  ],
  ['ljust', ['width', 'fillchar'], 1, filler((missing) => [0, missing])],
  ['rjust', ['width', 'fillchar'], 1, filler((missing) => [missing, 0])],
  ['center', ['width', 'fillchar'], 1, filler(toCenter)],
  ['zfill', ['width'], 1, zeroFill],
  ...CHARACTER_CLASSES.map(([name, test]) => [name, [], 0, simple(test)] as const),
];

/** Python puts the odd blank to the left when the width is odd. */
export function toCenter(missing: number, width: number): readonly [number, number] {
  const left = Math.floor(missing / 2) + (missing & width & 1);
  return [left, missing - left];
}

/** The methods of Python's `str` by name. */
export const STRING_METHODS: ReadonlyMap<string, Method> = new Map<string, Method>([
  ...METHODS.map(([name, names, required, run]) => [name, method(name, names, required, run)] as const),
  [
    'format',
    (rendering, self, positional, keyword) => likeValue(self, formatBraces(rendering, self, positional, keyword)),
  ],
  ['format_map', (rendering, self, [mapping = null]) => likeValue(self, formatBraces(rendering, self, [], mapping))],
]);
