import type { Grammar } from '../../core/grammar.ts';
import { ID_PLACE, isObjectFormat, type ToolFormat } from './tool-formats.ts';

/** A tool format as phases need it: texts for grammars, and patterns that detect the start of a call. */
export interface CallMarkup {
  /** Text before the first call's name. */
  readonly head: string;
  /** For each text that starts a call: the texts that may follow it up to the name. */
  readonly openings: readonly { readonly opening: string; readonly heads: readonly string[] }[];
  /** Text after a name, which shows that the name is complete. */
  readonly nameEnd: string;
  /** Grammars of the text between name and arguments. */
  readonly beforeArguments: readonly Grammar[];
  /** Text that ends the call's object. */
  readonly objectEnd: string;
  /** Text from there to the end of the call's markup. */
  readonly after: string;
  /** Returns the pattern of a call without markup, as small models write it, up to the start of its phase. */
  readonly createUnmarkedPattern: (name: string) => string;
}

export function getCallMarkup(format: ToolFormat): CallMarkup {
  const { begin, before, between, after, openings } = format;
  const head = begin + before;
  if (!isObjectFormat(format))
    return {
      head,
      openings: openings.map((opening) => ({ opening, heads: [getTextAfter(head, opening)] })),
      nameEnd: between,
      beforeArguments: [],
      objectEnd: '',
      // Arguments in another syntax end with the text after them, which their grammar includes.
      after: format.arguments && format.arguments.type !== 'json' ? '' : after,
      createUnmarkedPattern: (name) =>
        `${createUnmarkedObjectPattern(name)}${BLANKS_PATTERN},${BLANKS_PATTERN}"(?:arguments|parameters)"${BLANKS_PATTERN}:`,
    };
  return {
    head,
    openings: openings.map((opening) => {
      const rest = getTextAfter(head, opening);
      return { opening, heads: [...new Set([rest, rest.trimStart(), ` ${rest.trimStart()}`])] };
    }),
    nameEnd: '"',
    // The blank as the format has it, none, and the line breaks of indented JSON, which models write in fences.
    beforeArguments: [
      toChoiceGrammar([
        between.slice(1),
        ...['', '\n  ', '\n    '].map((blanks) => between.slice(1).replace(' ', blanks)),
      ]),
    ],
    objectEnd: '}',
    after: after.slice(1),
    createUnmarkedPattern: createUnmarkedObjectPattern,
  };
}

export const toChoiceGrammar = (texts: readonly string[]): Grammar => ({
  type: 'choice',
  options: texts.map(toTextGrammar),
});

/** Escapes a text for a regular expression. Only syntax characters are escaped: engines look at the last character. */
export const escapePattern = (text: string): string =>
  text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&').replaceAll(ID_PLACE, '[\\w-]+');

/** Returns the grammar of text of a format, in which an id may stand. */
export const toTextGrammar = (text: string): Grammar => {
  const parts = text.split(ID_PLACE).map((part): Grammar => ({ type: 'text', text: part }));
  const [only] = parts;
  return only && parts.length === 1
    ? only
    : { type: 'sequence', parts: parts.flatMap((part, i) => (i === 0 ? [part] : [ID, part])) };
};

/** The characters of an id that cannot be markup. */
const ID: Grammar = { type: 'without', characters: '<>[]{}()"\'\\ \t\r\n' };

const getTextAfter = (head: string, opening: string): string =>
  head.includes(opening) ? head.slice(head.indexOf(opening) + opening.length) : head;

const BLANKS_PATTERN = '[ \\t\\r\\n]*';

/**
 * Matches an object in a fence, at the start of a line or after another call, up to the end of its name. The lookbehind
 * starts at the name, so each blank of a long run is visited once.
 */
const createUnmarkedObjectPattern = (name: string): string => `(?<=${UNMARKED_HEAD})${escapePattern(name)}"`;

const UNMARKED_HEAD = [
  `(?:(?:^|\\n)${BLANKS_PATTERN}(?:[,;]${BLANKS_PATTERN})?|\`\`\`(?:json|JSON|tool_call)?${BLANKS_PATTERN})`,
  `(?:\\[${BLANKS_PATTERN})?\\{${BLANKS_PATTERN}`,
  `(?:"type"${BLANKS_PATTERN}:${BLANKS_PATTERN}"function"${BLANKS_PATTERN},${BLANKS_PATTERN})?`,
  `"name"${BLANKS_PATTERN}:${BLANKS_PATTERN}"`,
].join('');
