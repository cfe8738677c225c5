import type { ToolFormatName } from '../../catalogue/families/family.ts';

export type { ToolFormatName } from '../../catalogue/families/family.ts';

/**
 * The format in which a family of models writes calls. An answer with calls is `begin`, then for each call `before`,
 * the name, `between`, the arguments and `after`, with `separator` between calls and `end` after the last. When calls
 * are parsed, the number of blanks may differ.
 */
/** Stands in a format for the id of a call, which differs from call to call. */
export const ID_PLACE = '\uFDD2';

/** Stands in a mark for the key of the argument. */
export const KEY_PLACE = '\uFDD3';

/** Stands in the mark before a value for the name of its JSON type. */
export const TYPE_PLACE = '\uFDD4';

/** How the arguments of a call are written. */
export type ArgumentSyntax =
  /** One JSON object. */
  | { readonly type: 'json' }
  /** Each value between marks: `beforeKey`, the key, `beforeValue`, the value and `afterValue`. */
  | {
      readonly type: 'tags';
      readonly beforeKey: string;
      readonly separator: string;
      /** Marks of a value that is a string, and that is written without quotes. */
      readonly text: ValueMarks;
      /** Marks of every other value, which is written as JSON. */
      readonly other: ValueMarks;
      /** Texts with markup stand between `<![CDATA[` and `]]>`. */
      readonly hasCdata?: boolean;
    }
  /** Keys without quotes, and values as in Python or JSON; strings stand between quotes. */
  | {
      readonly type: 'literals';
      readonly beforeKey: string;
      readonly separator: string;
      readonly assign: string;
      readonly quote: string;
    };

export interface ValueMarks {
  readonly beforeValue: string;
  readonly afterValue: string;
}

export interface ToolFormat {
  readonly begin: string;
  readonly before: string;
  readonly between: string;
  readonly after: string;
  readonly separator: string;
  readonly end: string;
  /** Absent: JSON. */
  readonly arguments?: ArgumentSyntax;
  /** Texts that start a call wherever they stand. */
  readonly openings: readonly string[];
  /** Texts that may follow a call, in this order. */
  readonly closings: readonly string[];
  /** Texts of the format that some vocabularies have as special tokens. */
  readonly markers: readonly string[];
}

/** Start of a call that is one JSON object. */
const OBJECT_OPENING = '{"name": "';

const hermes: ToolFormat = {
  begin: '',
  before: `<tool_call>\n${OBJECT_OPENING}`,
  between: '", "arguments": ',
  after: '}\n</tool_call>',
  separator: '\n',
  end: '',
  openings: ['<tool_call>'],
  closings: ['</tool_call>'],
  markers: ['<tool_call>', '</tool_call>'],
};

const json: ToolFormat = {
  begin: '',
  before: OBJECT_OPENING,
  between: '", "arguments": ',
  after: '}',
  separator: '\n',
  end: '',
  openings: [],
  closings: [],
  markers: [],
};

const llama3: ToolFormat = {
  ...json,
  between: '", "parameters": ',
  separator: '; ',
  openings: ['<|python_tag|>'],
  markers: ['<|python_tag|>'],
};

const mistral: ToolFormat = {
  ...json,
  begin: '[TOOL_CALLS][',
  separator: ', ',
  end: ']',
  openings: ['[TOOL_CALLS]'],
  markers: ['[TOOL_CALLS]'],
};

const mistralArgs: ToolFormat = {
  begin: '',
  before: '[TOOL_CALLS]',
  between: '[ARGS]',
  after: '',
  separator: '',
  end: '',
  openings: ['[TOOL_CALLS]'],
  closings: [],
  markers: ['[TOOL_CALLS]', '[ARGS]'],
};

const deepseek: ToolFormat = {
  begin: '<｜tool▁calls▁begin｜>',
  before: '<｜tool▁call▁begin｜>function<｜tool▁sep｜>',
  between: '\n```json\n',
  after: '\n```<｜tool▁call▁end｜>',
  separator: '\n',
  end: '<｜tool▁calls▁end｜>',
  openings: ['<｜tool▁calls▁begin｜>', '<｜tool▁call▁begin｜>'],
  closings: ['```', '<｜tool▁call▁end｜>', '<｜tool▁calls▁end｜>'],
  markers: [
    '<｜tool▁calls▁begin｜>',
    '<｜tool▁call▁begin｜>',
    '<｜tool▁sep｜>',
    '<｜tool▁call▁end｜>',
    '<｜tool▁calls▁end｜>',
  ],
};

const deepseekV31: ToolFormat = {
  ...deepseek,
  before: '<｜tool▁call▁begin｜>',
  between: '<｜tool▁sep｜>',
  after: '<｜tool▁call▁end｜>',
  separator: '',
  closings: ['<｜tool▁call▁end｜>', '<｜tool▁calls▁end｜>'],
};

export const TOOL_FORMATS: Readonly<Record<ToolFormatName, ToolFormat>> = {
  hermes,
  llama3,
  mistral,
  'mistral-args': mistralArgs,
  deepseek,
  'deepseek-v31': deepseekV31,
  json,
};

/**
 * Returns the key of a call's name in a format where a call is one JSON object. Undefined for other formats, in which name
 * and arguments stand between marks.
 */
export const getNameKey = ({ before }: Pick<ToolFormat, 'before'>): string | undefined => NAME_KEY.exec(before)?.[1];

/** An object up to the name, perhaps with an id before it. */
const NAME_KEY = new RegExp(`\\{\\s*(?:"\\w+"\\s*:\\s*"?${ID_PLACE}"?\\s*,\\s*)?"(\\w+)"\\s*:\\s*"$`);

export const isObjectFormat = (format: ToolFormat): boolean => getNameKey(format) !== undefined;

/** Marks in a template's source, most specific first. `undefined`: a format that Parley cannot parse. */
const TEMPLATE_MARKS: readonly (readonly [mark: string, format: ToolFormatName | undefined])[] = [
  ['<function=', undefined],
  ['<arg_key>', undefined],
  ['tool▁sep｜>', 'deepseek-v31'],
  ['[ARGS]', 'mistral-args'],
  ['[TOOL_CALLS]', 'mistral'],
  ['<tool_call>', 'hermes'],
  ['<|python_tag|>', 'llama3'],
  ['"parameters":', 'llama3'],
  ['"arguments":', 'json'],
];

/**
 * Detects the call format that a model's template describes, by the marks in its source.
 * @returns undefined when the template has no tools, or a format that Parley cannot parse. Parley then describes the
 *   tools and its own format in the prompt.
 */
export function detectToolFormat(chatTemplate: string | undefined): ToolFormatName | undefined {
  if (chatTemplate === undefined || !mentionsTools(chatTemplate)) return undefined;
  // Quotes may be escaped in a Jinja string.
  const source = chatTemplate.replaceAll('\\"', '"');
  const format = TEMPLATE_MARKS.find(([mark]) => source.includes(mark))?.[1];
  return format === 'deepseek-v31' && source.includes('```json') ? 'deepseek' : format;
}

/** Whether a template has a place for tools. */
export const mentionsTools = (source: string): boolean => /\b(?:xml_)?tools\b|\+ functions\b/.test(source);
