import {
  ANY_NAME,
  createAlternatives,
  BLANK,
  createPatternCompiler,
  ID,
  OBJECT,
  createMatch,
  NAME,
  createOptional,
  createRepetition,
  createSequence,
  type CallPattern,
  type PatternStep,
} from './call-pattern.ts';
import {
  compileSeparateParts,
  createEnds,
  createWrapped,
  END_TOKEN,
  isDistinct,
  isJson,
  listSpellings,
  withFlexibleBlanks,
  type CallStart,
} from './separate-parts.ts';
import { getNameKey, TOOL_FORMATS, type ToolFormat } from './tool-formats.ts';

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

/** Returns the program of a format. */
export type CompileCalls = (format: ToolFormat) => CallProgram;

/** Creates a compiler that compiles each format once, which takes milliseconds. */
export function createCallCompiler(): CompileCalls {
  const programs = new WeakMap<ToolFormat, CallProgram>();
  return (format) => {
    const program = programs.get(format) ?? createCallProgram(format);
    programs.set(format, program);
    return program;
  };
}

/** Quotes of JSON, and those of Python. */
const QUOTES = ['"', "'"] as const;

const createKey = (name: string, quote: string): CallPattern => createSequence(quote + name + quote, BLANK, ':', BLANK);

/** A member that small models write before the name. */
const createMemberBeforeName = (quote: string): CallPattern =>
  createSequence(
    createAlternatives(
      createSequence(createKey('type', quote), `${quote}function${quote}`),
      createSequence(
        createAlternatives(createKey('id', quote), createKey('tool_call_id', quote)),
        createAlternatives(createSequence(quote, ID, quote), ID),
      ),
    ),
    BLANK,
    ',',
    BLANK,
  );

/** The start of an object, and of the one in it that some models write as the protocol does: `{"type", "function": {`. */
const createObjectStart = (quote: string): CallPattern => {
  const members = createRepetition(createMemberBeforeName(quote));
  const wrapped = createSequence(createKey('function', quote), '{', BLANK, members);
  return createSequence('{', BLANK, members, createOptional(wrapped));
};

/** The object of a call up to its name. */
const createObjectHead = (nameKey: string, name: CallPattern): CallPattern =>
  createAlternatives(
    ...QUOTES.map((quote) => createSequence(createObjectStart(quote), createKey(nameKey, quote), quote, name, quote)),
  );
const OBJECT_HEAD = createObjectHead('name', NAME);

const createArgumentsKey = (quote: string): CallPattern =>
  createSequence(createAlternatives(createKey('arguments', quote), createKey('parameters', quote)));
const ARGUMENTS_KEY = createAlternatives(...QUOTES.map(createArgumentsKey));

/** An object with its arguments before its name. */
const createReversedObject = (nameKey: string, name: CallPattern, tail: number): CallPattern =>
  createAlternatives(
    ...QUOTES.map((quote) =>
      createSequence(
        createSequence(createObjectStart(quote), createArgumentsKey(quote), OBJECT, BLANK, ',', BLANK),
        createSequence(createKey(nameKey, quote), quote, name, quote, BLANK, '}', call('closed', tail)),
      ),
    ),
  );

/**
 * Compiles a format's own markup, in which any name is taken for that of a tool, and two shapes that small models write
 * whatever the prompt says: an object in a fence, and an object at the start of a line; each also as a list of objects.
 */
function createCallProgram(format: ToolFormat): CallProgram {
  const compiler = createPatternCompiler();
  const tails: number[] = [];

  /** Adds the start of an object and the tail after it, in which further objects may follow. */
  const objects = (closings: readonly CallPattern[], head: (tail: number) => CallPattern): CallPattern => {
    const tail = tails.length;
    tails.push(-1);
    const continuation = createSequence(
      BLANK,
      EXTRA_BRACE,
      createOptional(createSequence(createAlternatives(',', ';'), BLANK)),
      head(tail),
    );
    tails[tail] = compiler.add(createAlternatives(createEnds(['}', ...closings]), continuation));
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

  const foreign = [
    // Calls as other families write them, also in a fence: models know several formats, and forget which is theirs.
    createShapes(
      createSequence(createAlternatives(...FOREIGN_OPENINGS), BLANK, createOptional(FENCE)),
      ['```', ...FOREIGN_CLOSINGS],
      looseObject,
    ),
    createShapes(FENCE, ['```'], looseObject),
    createShapes(
      createSequence(FENCE, createAlternatives(...FENCED_MARKS), BLANK, createOptional(FENCE)),
      ['```', ...FOREIGN_CLOSINGS, '```'],
      looseObject,
    ),
    ...(isJson(format)
      ? [...FUNCTION_TAGS, ...DEEPSEEK_CALLS, BUILT_IN_CALL].map((parts) =>
          compileSeparateParts({ ...format, ...parts }, tails, compiler.add),
        )
      : []),
    ...TAGGED_CALLS.filter(({ before }) => !format.before.includes(before)).flatMap((parts) => {
      const pattern = compileSeparateParts({ ...format, ...parts }, tails, compiler.add, 'certain');
      return [pattern, createWrapped(pattern)];
    }),
  ];
  const nameKey = getNameKey(format);
  const markedHead = createObjectHead(nameKey ?? 'name', ANY_NAME);
  const ownParts =
    nameKey === undefined
      ? createAlternatives(
          ...listSpellings(format).map((each) =>
            compileSeparateParts(each, tails, compiler.add, isDistinct(format) ? 'any' : 'declared'),
          ),
        )
      : '';
  const own =
    nameKey === undefined
      ? isDistinct(format)
        ? [ownParts, createWrapped(ownParts)]
        : format.openings.map((opening) => createSequence(opening, BLANK, ownParts))
      : format.openings.map((opening) =>
          createShapes(
            createOpeningPattern(opening, getTextBeforeObject(format, opening)),
            [...format.closings, END_TOKEN],
            (tail) =>
              createAlternatives(
                createSequence(markedHead, call('members', tail)),
                createReversedObject(nameKey, ANY_NAME, tail),
              ),
          ),
        );
  const anywhere = [
    ...own,
    ...foreign,
    // An object where the format has other syntax.
    ...(nameKey === undefined ? format.openings : [])
      .filter((opening) => !FOREIGN_OPENINGS.includes(opening))
      .map((opening) => createShapes(createSequence(opening, BLANK), format.closings, looseObject)),
    // A format without any mark may follow words.
    ...(format.begin === '[' && format.between === '(' ? [ownParts] : []),
    ...(/^\[?\{/.test(format.begin + format.before) ? [createShapes('', [END_TOKEN], unmarkedCall)] : []),
  ];
  const atLineStart = [
    createShapes('', [END_TOKEN], looseObject),
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

/** Returns the text between the mark that opens a call and the object, or the list of objects. */
function getTextBeforeObject({ begin, before }: ToolFormat, opening: string): string {
  const head = begin + before;
  const at = head.indexOf(opening);
  return at < 0 ? '' : (/^[^[{]*/.exec(head.slice(at + opening.length))?.[0] ?? '');
}

/** A brace too many, or that of an object around the call. */
const EXTRA_BRACE = createOptional(createSequence('}', BLANK));

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
  ['<|function_call|>'],
];

const FOREIGN_OPENINGS = FOREIGN_MARKS.map(([opening]) => opening);
const FOREIGN_CLOSINGS = FOREIGN_MARKS.flatMap(([, ...closings]) => closings);

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

/** Calls with tagged arguments, as most coding models write them. */
const TAGGED_CALLS: readonly CallParts[] = [
  { before: '<function=', between: '>', after: '</function>', beforeKey: '<parameter=', beforeValue: '>\n' },
  { before: '<invoke name="', between: '">', after: '</invoke>', beforeKey: '<parameter name="', beforeValue: '">' },
].map(({ beforeKey, beforeValue, ...marks }) => {
  const value = { beforeValue, afterValue: `${beforeValue.slice(beforeValue.indexOf('>') + 1)}</parameter>` };
  return {
    ...marks,
    begin: '',
    separator: '',
    closings: [marks.after],
    arguments: { type: 'tags', beforeKey, separator: '', text: value, other: value },
  };
});

/** DeepSeek's calls: its models know the forms of each other. */
const DEEPSEEK_CALLS: readonly CallParts[] = [TOOL_FORMATS.deepseek, TOOL_FORMATS['deepseek-v31']].map(
  ({ begin, before, between, after, separator, closings }) => ({ begin, before, between, after, separator, closings }),
);

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

/** An object as models write it whatever their format is. */
const looseObject = (tail: number): CallPattern =>
  createAlternatives(unmarkedObject(tail), createReversedObject('name', NAME, tail));

/** An object without a mark in the middle of a line: it is a call only if its arguments follow the name. */
const unmarkedCall = (tail: number): CallPattern => createSequence(OBJECT_HEAD, BLANK, createArgumentsStart(tail));
