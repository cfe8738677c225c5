import type { Grammar } from '../../core/grammar.ts';
import { isObjectFormat } from './formats.ts';
import type { ToolFormat } from './formats.ts';

/** A format in the words of phases: texts that grammars offer, and patterns by which a call is seen to begin. */
export interface CallMarkup {
  /** What comes before the first call's name. */
  readonly head: string;
  /** For each text that says a call begins, what may follow it up to the name. */
  readonly opened: readonly { readonly opening: string; readonly heads: readonly string[] }[];
  /** Comes behind a name; with it the name is known to be complete. */
  readonly nameEnd: string;
  /** What follows up to the arguments. */
  readonly toArguments: readonly Grammar[];
  /** The end of the call's object. */
  readonly objectEnd: string;
  /** From there to the end of the call's markup. */
  readonly after: string;
  /** A call in a shape that small models write, up to where its phase begins. */
  readonly barePattern: (name: string) => string;
}

export function callMarkup(format: ToolFormat): CallMarkup {
  const { begin, before, between, after, openings } = format;
  const head = begin + before;
  if (!isObjectFormat(format))
    return {
      head,
      opened: openings.map((opening) => ({ opening, heads: [behind(head, opening)] })),
      nameEnd: between,
      toArguments: [],
      objectEnd: '',
      after,
      barePattern: (name) => `${bare(name)}${BLANKS},${BLANKS}"(?:arguments|parameters)"${BLANKS}:`,
    };
  return {
    head,
    opened: openings.map((opening) => {
      const rest = behind(head, opening);
      return { opening, heads: [...new Set([rest, rest.trimStart(), ` ${rest.trimStart()}`])] };
    }),
    nameEnd: '"',
    // With the blanks of one line, of none, and of the indented JSON that models put in fences.
    toArguments: [
      oneOf([between.slice(1), ...['', '\n  ', '\n    '].map((blanks) => between.slice(1).replace(' ', blanks))]),
    ],
    objectEnd: '}',
    after: after.slice(1),
    barePattern: bare,
  };
}

export const oneOf = (texts: readonly string[]): Grammar => ({
  type: 'choice',
  options: texts.map((text) => ({ type: 'text', text })),
});

/** A text as part of a regular expression. Only what is syntax is escaped: engines look at the last character. */
export const escapePattern = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');

const behind = (head: string, opening: string): string =>
  head.includes(opening) ? head.slice(head.indexOf(opening) + opening.length) : head;

const BLANKS = '[ \\t\\r\\n]*';

/**
 * An object in a fence, at the start of a line or behind another call, up to its name's end. Looked for from the name
 * backwards, so that in blanks without end each is passed once.
 */
const bare = (name: string): string => `(?<=${BARE_HEAD})${escapePattern(name)}"`;

const BARE_HEAD = [
  `(?:(?:^|\\n)${BLANKS}(?:[,;]${BLANKS})?|\`\`\`(?:json|JSON|tool_call)?${BLANKS})`,
  `(?:\\[${BLANKS})?\\{${BLANKS}`,
  `(?:"type"${BLANKS}:${BLANKS}"function"${BLANKS},${BLANKS})?`,
  `"name"${BLANKS}:${BLANKS}"`,
].join('');
