import {
  createAlternatives,
  BLANK,
  createPatternCompiler,
  ID,
  OBJECT,
  createMatch,
  NAME,
  NAME_END,
  createOptional,
  createRepetition,
  createSequence,
  type CallPattern,
  type MarkupToken,
  type PatternStep,
} from './call-pattern.ts';
import { END_TOKENS } from './end-tokens.ts';
import { splitTags } from './split-enclosure.ts';
import { getNameKey, ID_PLACE, type ToolFormat } from './tool-formats.ts';

/** All texts that calls of a format can consist of, compiled for a matcher. */
export interface CallProgram {
  readonly steps: readonly PatternStep[];
  /** First steps of markup that starts a call anywhere. */
  readonly anywhere: readonly number[];
  /** First steps of markup that starts a call only at the start of a line. */
  readonly atLineStart: readonly number[];
  /** First steps of the text that may follow a call. */
  readonly tails: readonly number[];
}

type CallStart = Extract<MarkupToken, { type: 'call' }>;

/** Recognizes the start of a call. */
interface CallMatch {
  readonly type: 'match';
  readonly match: CallStart;
}

const END = createMatch({ type: 'end' });

/** A member that small models write before the name. */
const MEMBER_BEFORE_NAME = createSequence(
  createAlternatives(
    createSequence('"type"', BLANK, ':', BLANK, '"function"'),
    createSequence(
      createAlternatives('"id"', '"tool_call_id"'),
      BLANK,
      ':',
      BLANK,
      createAlternatives(createSequence('"', ID, '"'), ID),
    ),
  ),
  BLANK,
  ',',
  BLANK,
);

/** The object of a call up to its name. */
const createObjectHead = (nameKey: string): CallPattern =>
  createSequence('{', BLANK, createRepetition(MEMBER_BEFORE_NAME), `"${nameKey}"`, BLANK, ':', BLANK, '"', NAME, '"');
const OBJECT_HEAD = createObjectHead('name');

const ARGUMENTS_KEY = createSequence(createAlternatives('"arguments"', '"parameters"'), BLANK, ':');

/** An object with its arguments before its name. */
const createReversedObject = (nameKey: string, tail: number): CallPattern =>
  createSequence(
    createSequence('{', BLANK, createRepetition(MEMBER_BEFORE_NAME), ARGUMENTS_KEY, BLANK, OBJECT, BLANK, ',', BLANK),
    createSequence(`"${nameKey}"`, BLANK, ':', BLANK, '"', NAME, '"', BLANK, '}', call('closed', tail)),
  );

/**
 * Compiles a format's own markup, and two shapes that small models write whatever the prompt says: an object in a
 * fence, and an object at the start of a line; each also as a list of objects.
 */
export function createCallProgram(format: ToolFormat): CallProgram {
  const compiler = createPatternCompiler();
  const tails: number[] = [];

  /** Adds the start of an object and the tail after it, in which further objects may follow. */
  const objects = (closings: readonly CallPattern[], head: (tail: number) => CallPattern): CallPattern => {
    const tail = tails.length;
    tails.push(-1);
    const continuation = createSequence(
      BLANK,
      createOptional(createSequence(createAlternatives(',', ';'), BLANK)),
      head(tail),
    );
    tails[tail] = compiler.add(createAlternatives(createEnds(closings), continuation));
    return head(tail);
  };
  const createShapes = (
    opening: CallPattern,
    closings: readonly CallPattern[],
    head: (tail: number) => CallPattern,
  ): CallPattern =>
    createSequence(
      opening,
      createAlternatives(objects(closings, head), createSequence('[', BLANK, objects([']', ...closings], head))),
    );

  /** Calls as other families write them: models know several formats, and forget which is theirs. */
  const createForeign = ([opening, ...closings]: (typeof FOREIGN_MARKS)[number]): CallPattern =>
    createShapes(createSequence(opening, BLANK, createOptional(FENCE)), ['```', ...closings], (tail) =>
      opening === '[TOOL_CALLS]'
        ? createAlternatives(unmarkedObject(tail), createReversedObject('name', tail))
        : unmarkedObject(tail),
    );
  const foreign = [
    ...FOREIGN_MARKS.map(createForeign),
    ...(isJson(format)
      ? [...FUNCTION_TAGS, BUILT_IN_CALL].map((parts) =>
          compileSeparateParts({ ...format, ...parts }, tails, compiler.add),
        )
      : []),
  ];
  const nameKey = getNameKey(format);
  const markedHead = createObjectHead(nameKey ?? 'name');
  const ownParts = nameKey === undefined ? compileSeparateParts(format, tails, compiler.add) : '';
  const own =
    nameKey === undefined
      ? isDistinct(format)
        ? [ownParts]
        : format.openings.map((opening) => createSequence(opening, BLANK, ownParts))
      : format.openings.map((opening) =>
          createShapes(
            createOpeningPattern(opening, getTextBeforeObject(format, opening)),
            [...format.closings, END_TOKEN],
            (tail) =>
              createAlternatives(
                createSequence(markedHead, call('members', tail)),
                createReversedObject(nameKey, tail),
              ),
          ),
        );
  const fenced = FOREIGN_MARKS.filter(
    ([opening]) => FENCED_MARKS.includes(opening) && !format.openings.includes(opening),
  );
  const anywhere = [
    ...own,
    ...foreign,
    // A format without any mark may follow words.
    ...(/^\[?\{/.test(format.begin + format.before) ? [createShapes('', [END_TOKEN], unmarkedCall)] : []),
    createSequence(
      FENCE,
      createAlternatives(
        createShapes('', ['```'], unmarkedObject),
        ...fenced.map(([opening, ...closings]) => createForeign([opening, ...closings, '```'])),
      ),
    ),
  ];
  const atLineStart = [
    createShapes('', [END_TOKEN], unmarkedObject),
    ...(nameKey === undefined && !isDistinct(format) ? [ownParts] : []),
  ];
  return {
    anywhere: anywhere.map((pattern) => compiler.add(pattern)),
    atLineStart: atLineStart.map((pattern) => compiler.add(pattern)),
    steps: compiler.steps,
    tails,
  };
}

/** Matches the mark that opens a call and the text up to its object. A text with a mark of its own is enough. */
function createOpeningPattern(opening: string, text: string): CallPattern {
  const whole = createSequence(opening, BLANK, withFlexibleBlanks(text));
  return /\w\s*<[^<>]+>/.test(text) ? createAlternatives(whole, withFlexibleBlanks(text)) : whole;
}

/** A token that ends the turn, which some servers pass on. */
const END_TOKEN = createAlternatives(...END_TOKENS);

/** Matches what may follow a call: marks that close it, each of which may be missing. */
const createEnds = (closings: readonly CallPattern[]): CallPattern =>
  createSequence(BLANK, ...closings.map((closing) => createOptional(createSequence(closing, BLANK))), END);

/** Returns the text between the mark that opens a call and the object, or the list of objects. */
function getTextBeforeObject({ begin, before }: ToolFormat, opening: string): string {
  const head = begin + before;
  const at = head.indexOf(opening);
  return at < 0 ? '' : (/^[^[{]*/.exec(head.slice(at + opening.length))?.[0] ?? '');
}

/** Marks of other families around objects with a name and arguments: an opening, and what may follow. */
export const FOREIGN_MARKS: readonly (readonly [opening: string, ...closings: string[]])[] = [
  ...[
    'tool_call',
    'tool_calls',
    'tools',
    'tool',
    'function_call',
    'function_calls',
    'TOOLCALL',
    'response',
    'json',
    'JSON',
    'xml',
  ].map((name) => [`<${name}>`, `</${name}>`] as const),
  ['[TOOL_CALLS]'],
  ['<|tool_call|>', '<|/tool_call|>'],
  ['<|tool_call_start|>', '<|tool_call_end|>'],
  ['functools'],
];

type CallParts = Pick<ToolFormat, 'begin' | 'before' | 'between' | 'after' | 'separator' | 'closings' | 'arguments'>;

/** Marks that models also write inside of a fence. */
export const FENCED_MARKS: readonly string[] = ['<tool_call>', '<function_call>', '<response>', '<xml>'];

/** Marks before and after the name of a function, with JSON after them. */
export const FUNCTION_TAGS: readonly CallParts[] = (
  [
    ['<function=', '>', '</function>'],
    ['<function name="', '">', '</function>'],
    ['[TOOL_CALLS]', '[ARGS]', ''],
  ] as const
).map(([before, between, after]) => ({
  begin: '',
  before,
  between,
  after,
  separator: '',
  closings: after === '' ? [] : [after],
}));

/** Llama's calls of tools that are built in, which it also writes for others. */
const BUILT_IN_CALL: CallParts = {
  begin: '',
  before: '<|python_tag|>',
  between: '.call(',
  after: ')',
  separator: '',
  closings: [')'],
  arguments: { type: 'literals', beforeKey: '', separator: ', ', assign: '=', quote: '"' },
};

/** Language names that models write on the fence of a call. */
const LANGUAGE = createAlternatives('json', 'JSON', 'xml', 'tool_call');
const FENCE = createSequence('```', createOptional(LANGUAGE), BLANK);

const call = (body: CallStart['body'], tail: number): CallPattern =>
  createMatch({ type: 'call', body, isObject: true, tail });

/** The arguments of an object without a mark, after its name. */
const createArgumentsStart = (tail: number): CallPattern =>
  createSequence(',', BLANK, ARGUMENTS_KEY, call('value', tail));

/** An object without a mark: it is a call only if its arguments or its end follow the name. */
const unmarkedObject = (tail: number): CallPattern =>
  createSequence(
    OBJECT_HEAD,
    BLANK,
    createAlternatives(createArgumentsStart(tail), createSequence('}', call('closed', tail))),
  );

/** An object without a mark in the middle of a line: it is a call only if its arguments follow the name. */
const unmarkedCall = (tail: number): CallPattern => createSequence(OBJECT_HEAD, BLANK, createArgumentsStart(tail));

/** Compiles a format in which name and arguments stand between marks. */
function compileSeparateParts(format: ToolFormat, tails: number[], add: (pattern: CallPattern) => number): CallPattern {
  const { begin, before, between, after, separator } = format;
  const tail = tails.push(-1) - 1;
  const start: CallMatch = { type: 'match', match: { type: 'call', body: 'value', isObject: false, tail, format } };
  const name = createSequence(NAME, BLANK);
  // Some models leave out the marks between the name and an object.
  const object = isJson(format) && !between.includes('"') ? [followedBy(['{'], start)] : [];
  const afterHead = createSequence(
    name,
    createAlternatives(
      ...(isJson(format) && between.trim() === ''
        ? []
        : [createSequence(withFlexibleBlanks(between), createStart(format, start))]),
      ...object,
    ),
  );
  const ends = createEnds([...format.closings.map(withFlexibleBlanks), END_TOKEN]);
  const next = createSequence(BLANK, withFlexibleBlanks(after + separator + before), afterHead);
  tails[tail] = add(createAlternatives(ends, next));
  const first = createSequence(withFlexibleBlanks(begin), withFlexibleBlanks(before), afterHead);
  if (!hasMark(before)) return first;
  const starts = listArgumentStarts(format);
  const certainHead =
    starts.length === 0 ? afterHead : createSequence(name, withFlexibleBlanks(between), followedBy(starts, start));
  const shortened = begin === '' ? undefined : SECOND_MARK.exec(before)?.[1];
  return createAlternatives(
    first,
    ...(shortened === undefined
      ? []
      : [createSequence(withFlexibleBlanks(begin), withFlexibleBlanks(shortened), afterHead)]),
    ...listLastMarks(before).map((mark) =>
      createSequence(withFlexibleBlanks(mark), mark === before ? afterHead : certainHead),
    ),
  );
}

const isJson = ({ arguments: syntax }: Pick<ToolFormat, 'arguments'>): boolean => !syntax || syntax.type === 'json';

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
const isDistinct = ({ begin, before }: ToolFormat): boolean => /[^\w\s"'{[(]{2}|<|\[[A-Z_]/.test(begin + before);

/** Whether a text is not just blanks, letters and quotes, which could stand in any answer. */
const hasMark = (text: string): boolean => /[^\w\s"']{2}|<|\[/.test(text);

/** Returns the text, and without its first mark when it has two: some models leave it out. */
function listLastMarks(before: string): string[] {
  const rest = /^\s*<[^<>]*>\s*(<[^<>]*)$/.exec(before)?.[1];
  return rest === undefined ? [before] : [before, rest];
}

/** Text before a name from after its first mark, if it has another one: models leave the first out after `begin`. */
const SECOND_MARK = /^\s*<[^<>]*>(\s*\w+\s*<[^<>]*>\s*)$/;

/** Text that models may leave out: an id with the sign or mark before it, and the namespace of a tool's name. */
const OPTIONAL_PART = new RegExp(`((?:\\[[A-Z_]+\\]|:)${ID_PLACE}|\\bfunctions\\.$)`);

/**
 * Matches a text with any number of blanks where it has some, around its tags and at its end; an id where it has the place
 * of one.
 */
const withFlexibleBlanks = (text: string): CallPattern =>
  createSequence(
    ...text.split(OPTIONAL_PART).map((part, i) => {
      const words = splitTags(part).flatMap((word): CallPattern[] => [toWordPattern(word), BLANK]);
      return i % 2 === 0 ? createSequence(...words) : createOptional(createSequence(...words));
    }),
  );

/** Marks that models write in two ways. */
const SPELLINGS: Readonly<Record<string, string>> = {
  '<|tool_calls_section_begin|>': '<|tool_call_section_begin|>',
  '<|tool_calls_section_end|>': '<|tool_call_section_end|>',
  '<｜tool▁calls▁begin｜>': '<｜tool▁calls｜>',
};

const toWordPattern = (word: string): CallPattern =>
  createAlternatives(...[word, SPELLINGS[word] ?? []].flat().map(toSpelledPattern));

/** Matches a word; an id where it has the place of one. Models write the blanks in DeepSeek's marks in several ways. */
const toSpelledPattern = (word: string): CallPattern =>
  createSequence(
    ...word
      .split(new RegExp(`(${ID_PLACE}|▁)`))
      .map((part) => (part === ID_PLACE ? ID : part === '▁' ? createAlternatives('▁', '_', ' ', '\\_') : part)),
  );
