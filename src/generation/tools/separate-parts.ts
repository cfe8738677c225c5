import {
  ANY_NAME,
  BLANK,
  createAlternatives,
  createMatch,
  createOptional,
  createSequence,
  ID,
  NAME,
  NAME_END,
  type CallPattern,
  type MarkupToken,
} from './call-pattern.ts';
import { END_TOKENS } from './end-tokens.ts';
import { splitTags } from './split-enclosure.ts';
import { ID_PLACE, type ToolFormat } from './tool-formats.ts';

export type CallStart = Extract<MarkupToken, { type: 'call' }>;

/** Recognizes the start of a call. */
interface CallMatch {
  readonly type: 'match';
  readonly match: CallStart;
}

const END = createMatch({ type: 'end' });

/** A token that ends the turn, which some servers pass on. */
export const END_TOKEN = createAlternatives(...END_TOKENS);

/** Matches what may follow a call: marks that close it, each of which may be missing. */
export const createEnds = (closings: readonly CallPattern[]): CallPattern =>
  createSequence(BLANK, ...closings.map((closing) => createOptional(createSequence(closing, BLANK))), END);

/**
 * Compiles a format in which name and arguments stand between marks.
 * @param name Name after the format's own marks, without variation: `any`, that of a declared tool, or one that a mark of
 *   arguments follows as well (`certain`).
 */
export function compileSeparateParts(
  format: ToolFormat,
  tails: number[],
  add: (pattern: CallPattern) => number,
  name: 'any' | 'declared' | 'certain' = 'declared',
): CallPattern {
  const { begin, before, between, after, separator } = format;
  const beginPattern = createBeginPattern(begin);
  const tail = tails.push(-1) - 1;
  const start: CallMatch = { type: 'match', match: { type: 'call', body: 'value', isObject: false, tail, format } };
  const isBlankBetween = between.trim() === '';
  // Some models leave out the marks between the name and an object.
  const object = isJson(format) && !between.includes('"') ? [followedBy(['{'], start)] : [];
  const starts = listArgumentStarts(format);
  const certainHead = createSequence(NAME, BLANK, withFlexibleBlanks(between), followedBy(starts, start));
  const afterName = createSequence(withFlexibleBlanks(between), createStart(format, start));
  // Some leave out the sign that ends the mark around the name.
  const argument = isBlankBetween ? [] : [followedBy(starts, start)];
  const declaredHead = createSequence(
    NAME,
    BLANK,
    createAlternatives(...(isJson(format) && isBlankBetween ? [] : [afterName]), ...object, ...argument),
  );
  // Blanks after a name do not show that it is one.
  const anyHead = isBlankBetween
    ? createSequence(ANY_NAME, BLANK, followedBy(isJson(format) ? ['{'] : starts, start))
    : createSequence(ANY_NAME, BLANK, afterName);
  const afterHead = { any: createAlternatives(declaredHead, anyHead), declared: declaredHead, certain: certainHead }[
    name
  ];
  const extra = isJson(format) ? ['}'] : [];
  const ends = createEnds([
    ...[...extra, ...format.closings].map(withFlexibleBlanks),
    ...listRenamed(begin, '</'),
    ...WRAPPER_ENDS,
    END_TOKEN,
  ]);
  const next = createSequence(BLANK, withFlexibleBlanks(after + separator + before), afterHead);
  tails[tail] = add(createAlternatives(ends, next));
  const first = createSequence(beginPattern, withFlexibleBlanks(before), afterHead);
  if (!hasMark(before)) return first;
  const variedHead = starts.length === 0 ? declaredHead : certainHead;
  const shortened = begin === '' ? undefined : SECOND_MARK.exec(before)?.[1];
  return createAlternatives(
    first,
    ...(shortened === undefined ? [] : [createSequence(beginPattern, withFlexibleBlanks(shortened), declaredHead)]),
    ...listLastMarks(before).map((mark) =>
      createSequence(withFlexibleBlanks(mark), mark === before ? afterHead : variedHead),
    ),
  );
}

/** Marks of calls in widely used formats, which models also write that have another one. */
const USUAL_MARKS: readonly string[] = [
  '<tool_call>',
  '<function=',
  '<invoke name=',
  '[TOOL_CALLS]',
  '<|tool_call',
  '<|python_tag|>',
];

/** Lists texts that show that a call was meant, and that stand in no ordinary answer. */
export const listCallMarks = (format: Pick<ToolFormat, 'openings'>): string[] => [
  ...new Set([...listCallOpenings(format).filter((opening) => !/^[\w\s]/.test(opening)), ...USUAL_MARKS]),
];

/** Matches the text before all calls; models leave out the bracket of a list that has a mark. */
const createBeginPattern = (begin: string): CallPattern =>
  createAlternatives(...[begin, begin.replace(/(?<=>)\[$/, '')].map(withFlexibleBlanks), ...listRenamed(begin, '<'));

/** Matches the tag around all calls with any word after its special token: versions of a family name it differently. */
function listRenamed(begin: string, bracket: '<' | '</'): CallPattern[] {
  const token = /^\s*<([|｜]\w+[|｜]) ?\w+>\s*$/.exec(begin)?.[1];
  return token === undefined ? [] : [createSequence(bracket + token, BLANK, ID, '>', BLANK)];
}

/** Tags that some models write around calls whose format has others. */
const WRAPPERS = ['tool_call', 'tool_calls', 'function_calls'];
export const WRAPPER_ENDS = WRAPPERS.map((name) => `</${name}>`);

/** Matches calls in a tag of their own, and in one more that models write around them. */
export const createWrapped = (pattern: CallPattern): CallPattern =>
  createSequence(createAlternatives(...WRAPPERS.map((name) => `<${name}>`)), BLANK, pattern);

/** Suffixes of tags that models leave out. */
const OPTIONAL_SUFFIX = ':opensource';

/** Position after the special token of a tag, where DeepSeek V4.1 writes a blank. */
const AFTER_TOKEN = /(?<=<\/?｜\w+｜)(?=[a-z])/g;

/** Returns the format, and as models write it that know its marks in another spelling. */
export function listSpellings(format: ToolFormat): ToolFormat[] {
  const text = JSON.stringify(format);
  const spellings = [text, text.replaceAll(OPTIONAL_SUFFIX, ''), text.replaceAll(AFTER_TOKEN, ' ')];
  return [format, ...[...new Set(spellings)].slice(1).map((each) => JSON.parse(each) as ToolFormat)];
}

/** Special token with which a tag starts. */
const TAG_TOKEN = /^<[|｜]\w+[|｜](?=[a-z])/;

/** Lists the texts that start a call, as short as they are certain: a tag's name may be misspelled after its token. */
export const listCallOpenings = ({ openings }: Pick<ToolFormat, 'openings'>): string[] => [
  ...new Set(openings.map((opening) => TAG_TOKEN.exec(opening)?.[0] ?? opening)),
];

export const isJson = ({ arguments: syntax }: Pick<ToolFormat, 'arguments'>): boolean =>
  !syntax || syntax.type === 'json';

/** Recognizes a call after what stands between its name and its arguments, where these are certain. */
function createStart({ before, between, after, ...format }: ToolFormat, start: CallMatch): CallPattern {
  // The name of a tool may start with that of another one.
  if (between.trim() === '') return createSequence(NAME_END, createMatch({ ...start.match, readAgain: 1 }));
  // A tag of words may stand in any text: it starts a call only before an object, or its end.
  const isOrdinaryTag = isJson(format) && /^\s*<\w[^<>]*$/.test(before);
  return isOrdinaryTag ? followedBy(['{', ...splitTags(after).slice(0, 1)], start) : start;
}

/** Recognizes a call where one of the texts follows, which is read again. */
const followedBy = (texts: readonly string[], { match }: CallMatch): CallPattern =>
  createAlternatives(...texts.map((text) => createSequence(text, createMatch({ ...match, readAgain: text.length }))));

/** Returns the marks of which one follows the name of every call with tagged arguments. */
const listArgumentStarts = ({ arguments: syntax, after }: ToolFormat): string[] =>
  syntax?.type === 'tags'
    ? [syntax.beforeKey, after].flatMap((mark) => splitTags(mark).slice(0, 1)).filter((mark) => hasMark(mark))
    : [];

/** Whether the text before a name could not stand in the middle of a line of any answer. */
export const isDistinct = ({ begin, before }: ToolFormat): boolean => /[^\w\s"'{[(]{2}|<|\[[A-Z_]/.test(begin + before);

/** Whether a text is not just blanks, letters and quotes, which could stand in any answer. */
const hasMark = (text: string): boolean => /[^\w\s"']{2}|<|\[/.test(text);

/** Returns the text, and without its first mark when it has two: some models leave it out. */
function listLastMarks(before: string): string[] {
  const rest = /^\s*<[^<>]*>\s*(<[^<>]*)$/.exec(before)?.[1];
  return rest === undefined ? [before] : [before, rest];
}

/** Text before a name from after its first mark, if it has another one: models leave the first out after `begin`. */
const SECOND_MARK = /^\s*<[^<>]*>(\s*\w+\s*<[^<>]*>\s*)$/;

/**
 * Text that models may leave out: an id with the sign or mark before it, the namespace of a tool's name, and a word between
 * a mark and a colon.
 */
const OPTIONAL_PART = new RegExp(`((?:\\[[A-Z_]+\\]|:)${ID_PLACE}|\\bfunctions\\.$|(?<=>)[a-z]+(?=:$))`);

/**
 * Matches a text with any number of blanks where it has some, around its tags and at its end; an id where it has the place
 * of one.
 */
export const withFlexibleBlanks = (text: string): CallPattern =>
  createSequence(
    ...text.split(OPTIONAL_PART).map((part, i) => {
      const words = splitTags(part)
        .flatMap((word) => word.split(JSON_SIGNS))
        .flatMap((word): CallPattern[] => [toWordPattern(word), BLANK]);
      return i % 2 === 0 ? createSequence(...words) : createOptional(createSequence(...words));
    }),
  );

/** Positions between signs of JSON, where blanks may stand. */
const JSON_SIGNS = /(?<=")(?=[:,])|(?<=[{[])(?=["{])/;

/** Marks that models write in two ways. */
const SPELLINGS: Readonly<Record<string, string>> = {
  '<|tool_calls_section_begin|>': '<|tool_call_section_begin|>',
  '<|tool_calls_section_end|>': '<|tool_call_section_end|>',
  '<｜tool▁calls▁begin｜>': '<｜tool▁calls｜>',
};

const toWordPattern = (word: string): CallPattern =>
  createAlternatives(...[word, SPELLINGS[word] ?? []].flat().map(toSpelledPattern));

/** Characters that models write in several ways: those of DeepSeek's marks, and the quotes of an attribute. */
const VARIED = new RegExp(`(${ID_PLACE}|▁|｜|(?<==)"$|^"(?=>))`);

const VARIANTS: Readonly<Record<string, CallPattern>> = {
  [ID_PLACE]: ID,
  '▁': createAlternatives('▁', '_', ' ', '\\_'),
  '｜': createAlternatives('｜', '|'),
  '"': createAlternatives('"', "'", ''),
};

/** Matches a word; an id where it has the place of one. */
const toSpelledPattern = (word: string): CallPattern =>
  createSequence(...word.split(VARIED).map((part, i) => (i % 2 === 0 ? part : (VARIANTS[part] ?? part))));
