import { anyOf, BLANK, createPatternCompiler, ID, match, NAME, optional, repeat, sequence } from './call-pattern.ts';
import type { CallPattern, Match, Step } from './call-pattern.ts';
import { isObjectFormat } from './formats.ts';
import type { ToolFormat } from './formats.ts';

/** Everything a format's calls can look like, ready to be run by a matcher. */
export interface CallProgram {
  readonly steps: readonly Step[];
  /** First steps of what begins a call anywhere. */
  readonly anywhere: readonly number[];
  /** First steps of what begins a call only at the start of a line. */
  readonly atLineStart: readonly number[];
  /** First steps of what may follow a call. */
  readonly tails: readonly number[];
}

type CallMatch = Extract<Match, { type: 'call' }>;

const END = match({ type: 'end' });

/** What small models put before the name. */
const EARLIER_MEMBER = sequence(
  anyOf(sequence('"type"', BLANK, ':', BLANK, '"function"'), sequence('"id"', BLANK, ':', BLANK, '"', ID, '"')),
  BLANK,
  ',',
  BLANK,
);

/** A call's object up to its name. */
const OBJECT_HEAD = sequence('{', BLANK, repeat(EARLIER_MEMBER), '"name"', BLANK, ':', BLANK, '"', NAME, '"');

/**
 * A format's own markup, and the two shapes that small models write whatever they were told: an object in a fence, and one
 * at the start of a line; each also as a list of objects.
 */
export function createCallProgram(format: ToolFormat): CallProgram {
  const compiler = createPatternCompiler();
  const tails: number[] = [];

  /** An object's head, and what follows it, in which further objects may follow each other. */
  const objects = (closings: readonly CallPattern[], head: (tail: number) => CallPattern): CallPattern => {
    const tail = tails.length;
    tails.push(-1);
    const ends = sequence(BLANK, ...closings.map((closing) => optional(sequence(closing, BLANK))), END);
    const goesOn = sequence(BLANK, optional(sequence(anyOf(',', ';'), BLANK)), head(tail));
    tails[tail] = compiler.add(anyOf(ends, goesOn));
    return head(tail);
  };
  const shapes = (opening: CallPattern, closings: readonly CallPattern[], head: (tail: number) => CallPattern) =>
    compiler.add(
      sequence(opening, anyOf(objects(closings, head), sequence('[', BLANK, objects([']', ...closings], head)))),
    );

  const own = isObjectFormat(format)
    ? format.openings.map((opening) => shapes(sequence(opening, BLANK), format.closings, declaredObject))
    : [compiler.add(partsOf(format, tails, compiler.add))];
  return {
    anywhere: [...own, shapes(sequence('```', optional(LANGUAGE), BLANK), ['```'], guessedObject)],
    atLineStart: [shapes('', [], guessedObject)],
    steps: compiler.steps,
    tails,
  };
}

/** Names that models give to the language of a call. */
const LANGUAGE = anyOf('json', 'JSON', 'tool_call');

const call = (body: CallMatch['body'], tail: number, isObject = true): CallPattern =>
  match({ type: 'call', body, isObject, tail });

/** Behind a mark: it is a call as soon as its name is known. */
const declaredObject = (tail: number): CallPattern => sequence(OBJECT_HEAD, call('members', tail));

/** Without a mark: an object that goes on otherwise is none. */
const guessedObject = (tail: number): CallPattern =>
  sequence(
    OBJECT_HEAD,
    BLANK,
    anyOf(
      sequence(',', BLANK, anyOf('"arguments"', '"parameters"'), BLANK, ':', call('value', tail)),
      sequence('}', call('closed', tail)),
    ),
  );

/** Name and arguments between marks. */
function partsOf(format: ToolFormat, tails: number[], add: (pattern: CallPattern) => number): CallPattern {
  const closings = format.closings.map((closing) => optional(sequence(closing, BLANK)));
  const tail = tails.push(add(sequence(BLANK, ...closings, END))) - 1;
  const head = sequence(loose(format.before), NAME, BLANK, loose(format.between), call('value', tail, false));
  return format.begin === '' ? head : sequence(optional(loose(format.begin)), head);
}

/** Text in which blanks may differ, with more of them behind it. */
const loose = (text: string): CallPattern =>
  sequence(...text.split(/\s+/).flatMap((word): CallPattern[] => (word === '' ? [] : [word, BLANK])));
