import type { ToolFormatName } from '../../catalogue/families/family.ts';

export type { ToolFormatName } from '../../catalogue/families/family.ts';

/**
 * How a family of models writes calls. Written, an answer with calls is `begin`, then for each call `before`, the name,
 * `between`, the arguments and `after`, with `separator` between calls and `end` behind the last. Read, blanks may differ.
 */
export interface ToolFormat {
  readonly begin: string;
  readonly before: string;
  readonly between: string;
  readonly after: string;
  readonly separator: string;
  readonly end: string;
  /** Say that a call begins, wherever they stand. */
  readonly openings: readonly string[];
  /** May stand behind a call, in this order. */
  readonly closings: readonly string[];
  /** Texts of the format that some vocabularies have special tokens for. */
  readonly markers: readonly string[];
}

/** A call that is one JSON object begins so. */
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

/** Whether a call is one JSON object; otherwise name and arguments stand between marks. */
export const isObjectFormat = ({ before }: ToolFormat): boolean => before.endsWith(OBJECT_OPENING);

/** What a template's source shows: the first that is found. `undefined`: calls that nobody here can read. */
const MARKS: readonly (readonly [mark: string, format: ToolFormatName | undefined])[] = [
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
 * How a model file's template tells the model to write calls, by the marks in its source.
 * @returns undefined when it gets no tools, or tells of a format that is none of ours: calls are then asked for in our words.
 */
export function detectToolFormat(chatTemplate: string | undefined): ToolFormatName | undefined {
  if (chatTemplate === undefined || !knowsTools(chatTemplate)) return undefined;
  // In a Jinja string quotes may be escaped.
  const source = chatTemplate.replaceAll('\\"', '"');
  const format = MARKS.find(([mark]) => source.includes(mark))?.[1];
  return format === 'deepseek-v31' && source.includes('```json') ? 'deepseek' : format;
}

/** The format of a template that is given tools: the family's, else what its source shows. */
export const templateToolFormat = (source: string, ofFamily: ToolFormatName | undefined): ToolFormatName | undefined =>
  ofFamily && knowsTools(source) ? ofFamily : detectToolFormat(source);

const knowsTools = (source: string): boolean => /\btools\b/.test(source);
