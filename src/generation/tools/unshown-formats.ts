import type { MessageForm } from './derive-tool-format.ts';
import { TOOL_FORMATS, type ToolFormat } from './tool-formats.ts';

/** Formats of models whose templates write tools but no calls, or calls in a conversation only in part. */
interface UnshownFormat {
  /** Text in the template that only these models have. */
  readonly mark: string;
  readonly format: ToolFormat;
  readonly form?: MessageForm;
  /** Default: false. */
  readonly showsCalls?: boolean;
}

/** A list of objects with `name` and `arguments` after a mark, as in Granite 3 and firefunction. */
const createObjectList = (mark: string): ToolFormat => ({
  begin: `${mark}[`,
  before: '{"name": "',
  between: '", "arguments": ',
  after: '}',
  separator: ', ',
  end: ']',
  openings: [mark],
  closings: ['<|/tool_call|>'],
  markers: [mark],
});

/** Python calls in a list, as LFM2 writes them. */
const LFM2: ToolFormat = {
  begin: '<|tool_call_start|>[',
  before: '',
  between: '(',
  after: ')',
  separator: ', ',
  end: ']<|tool_call_end|>',
  arguments: { type: 'literals', beforeKey: '', separator: ', ', assign: '=', quote: '"' },
  openings: ['<|tool_call_start|>'],
  closings: [')', ']', '<|tool_call_end|>'],
  markers: ['<|tool_call_start|>', '<|tool_call_end|>'],
};

/** Python calls in a list without marks, as the smaller models of Llama 3.2 and Llama 4 are prompted to write them. */
const PYTHONIC: ToolFormat = {
  ...LFM2,
  begin: '[',
  end: ']',
  openings: ['<|python_start|>', '<|python_tag|>'],
  closings: [')', ']', '<|python_end|>'],
  markers: ['<|python_start|>', '<|python_end|>'],
};

/** Command R writes a list of objects in a fence. */
const COMMAND_R: ToolFormat = {
  begin: 'Action: ```json\n[',
  before: '\n    {\n        "tool_name": "',
  between: '",\n        "parameters": ',
  after: '\n    }',
  separator: ',',
  end: '\n]```',
  openings: ['Action:'],
  closings: [']', '```'],
  markers: [],
};

/** Functionary 3.2 writes the recipient of each part: the name of a function, or `all`. The prompt ends with the mark. */
const FUNCTIONARY: ToolFormat = {
  begin: '',
  before: '>>>',
  between: '\n',
  after: '',
  separator: '',
  end: '',
  openings: ['>>>'],
  closings: [],
  markers: [],
};

/** InternLM 2 writes one object between marks. */
const INTERNLM: ToolFormat = {
  begin: '',
  before: '<|action_start|><|plugin|>\n{"name": "',
  between: '", "parameters": ',
  after: '}<|action_end|>',
  separator: '\n',
  end: '',
  openings: ['<|action_start|><|plugin|>'],
  closings: ['<|action_end|>'],
  markers: ['<|action_start|>', '<|plugin|>', '<|action_end|>'],
};

/** GLM 4 from 4.5 on, as the prompts for its older models describe it too. */
const GLM_TAGS: ToolFormat = {
  begin: '',
  before: '<tool_call>',
  between: '\n',
  after: '\n</tool_call>',
  separator: '\n',
  end: '',
  arguments: {
    type: 'tags',
    beforeKey: '<arg_key>',
    separator: '\n',
    text: { beforeValue: '</arg_key>\n<arg_value>', afterValue: '</arg_value>' },
    other: { beforeValue: '</arg_key>\n<arg_value>', afterValue: '</arg_value>' },
  },
  openings: ['<tool_call>'],
  closings: ['</tool_call>'],
  markers: ['<tool_call>', '</tool_call>'],
};

/** GLM-4-0414 writes the name on a line of its own, and the arguments after it. */
const GLM_LINES: ToolFormat = {
  begin: '',
  before: '',
  between: '\n',
  after: '',
  separator: '\n',
  end: '',
  openings: [],
  closings: [],
  markers: [],
};

/** Sources: the makers' documentation of each model. */
export const UNSHOWN_FORMATS: readonly UnshownFormat[] = [
  { mark: 'xml_tools', format: TOOL_FORMATS.hermes },
  { mark: '<|tool_list_start|>', format: LFM2 },
  { mark: 'List of tools: ', format: LFM2 },
  {
    mark: '>>>all',
    format: FUNCTIONARY,
    form: { argumentsAsText: true, emptyAsNull: true, idNamesTool: false },
    showsCalls: true,
  },
  { mark: 'functools[', format: createObjectList('functools') },
  { mark: '<|tool_call|>', format: createObjectList('<|tool_call|>') },
  { mark: '<|action_start|>', format: INTERNLM },
  { mark: 'func_name1(param', format: PYTHONIC },
  { mark: '<arg_key>', format: GLM_TAGS },
  { mark: '请使用 Json 格式表示调用的参数', format: GLM_LINES },
  { mark: 'a json-formatted list of actions', format: COMMAND_R },
];
