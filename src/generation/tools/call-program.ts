import { anyOf, BLANK, createPatternCompiler, ID, match, NAME, optional, repeat, sequence } from './call-pattern.ts';
import type { CallPattern, MarkupToken, PatternStep } from './call-pattern.ts';
import { isObjectFormat } from './tool-formats.ts';
import type { ToolFormat } from './tool-formats.ts';

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

const END = match({ type: 'end' });

/** A member that small models write before the name. */
const MEMBER_BEFORE_NAME = sequence(
  anyOf(sequence('"type"', BLANK, ':', BLANK, '"function"'), sequence('"id"', BLANK, ':', BLANK, '"', ID, '"')),
  BLANK,
  ',',
  BLANK,
);

/** The object of a call up to its name. */
const OBJECT_HEAD = sequence('{', BLANK, repeat(MEMBER_BEFORE_NAME), '"name"', BLANK, ':', BLANK, '"', NAME, '"');

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
    const ends = sequence(BLANK, ...closings.map((closing) => optional(sequence(closing, BLANK))), END);
    const continuation = sequence(BLANK, optional(sequence(anyOf(',', ';'), BLANK)), head(tail));
    tails[tail] = compiler.add(anyOf(ends, continuation));
    return head(tail);
  };
  const compileShapes = (opening: CallPattern, closings: readonly CallPattern[], head: (tail: number) => CallPattern) =>
    compiler.add(
      sequence(opening, anyOf(objects(closings, head), sequence('[', BLANK, objects([']', ...closings], head)))),
    );

  const formatEntries = isObjectFormat(format)
    ? format.openings.map((opening) => compileShapes(sequence(opening, BLANK), format.closings, markedObject))
    : [compiler.add(compileSeparateParts(format, tails, compiler.add))];
  return {
    anywhere: [...formatEntries, compileShapes(sequence('```', optional(LANGUAGE), BLANK), ['```'], unmarkedObject)],
    atLineStart: [compileShapes('', [], unmarkedObject)],
    steps: compiler.steps,
    tails,
  };
}

/** Language names that models write on the fence of a call. */
const LANGUAGE = anyOf('json', 'JSON', 'tool_call');

const call = (body: CallStart['body'], tail: number, isObject = true): CallPattern =>
  match({ type: 'call', body, isObject, tail });

/** An object after a mark: it is a call as soon as its name is known. */
const markedObject = (tail: number): CallPattern => sequence(OBJECT_HEAD, call('members', tail));

/** An object without a mark: it is a call only if its arguments or its end follow the name. */
const unmarkedObject = (tail: number): CallPattern =>
  sequence(
    OBJECT_HEAD,
    BLANK,
    anyOf(
      sequence(',', BLANK, anyOf('"arguments"', '"parameters"'), BLANK, ':', call('value', tail)),
      sequence('}', call('closed', tail)),
    ),
  );

/** Compiles a format in which name and arguments stand between marks. */
function compileSeparateParts(format: ToolFormat, tails: number[], add: (pattern: CallPattern) => number): CallPattern {
  const closings = format.closings.map((closing) => optional(sequence(closing, BLANK)));
  const tail = tails.push(add(sequence(BLANK, ...closings, END))) - 1;
  const head = sequence(
    withFlexibleBlanks(format.before),
    NAME,
    BLANK,
    withFlexibleBlanks(format.between),
    call('value', tail, false),
  );
  return format.begin === '' ? head : sequence(optional(withFlexibleBlanks(format.begin)), head);
}

/** Matches a text with any number of blanks where it has some, and at its end. */
const withFlexibleBlanks = (text: string): CallPattern =>
  sequence(...text.split(/\s+/).flatMap((word): CallPattern[] => (word === '' ? [] : [word, BLANK])));
