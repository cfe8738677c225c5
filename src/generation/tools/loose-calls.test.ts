import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readCalls } from './__fixtures__/read-calls.ts';
import { ID_PLACE, KEY_PLACE, TOOL_FORMATS, type ToolFormat } from './tool-formats.ts';
import { UNSHOWN_FORMATS } from './unshown-formats.ts';

const TOOLS = [
  {
    name: 'add',
    parameters: {
      type: 'object',
      properties: {
        a: { type: 'integer' },
        note: { anyOf: [{ type: 'string' }, { type: 'null' }] },
        either: { type: ['string', 'integer'] },
      },
    },
  },
  { name: 'add_more', parameters: { type: 'object', properties: { a: { type: 'integer' } } } },
  { name: 'stop', parameters: { type: 'object', properties: {} } },
];
const VALUE = { beforeValue: '>', afterValue: '</parameter>' };
const CODER: ToolFormat = {
  begin: '',
  before: '<tool_call>\n<function=',
  between: '>',
  after: '\n</function>\n</tool_call>',
  separator: '\n',
  end: '',
  arguments: { type: 'tags', beforeKey: '\n<parameter=', separator: '', text: VALUE, other: VALUE },
  openings: ['<tool_call>'],
  closings: ['</function>', '</tool_call>'],
  markers: [],
};
const PAIR = { beforeValue: '</arg_key><arg_value>', afterValue: '</arg_value>' };
const GLM: ToolFormat = {
  ...CODER,
  before: '<tool_call>',
  between: '',
  after: '</tool_call>',
  arguments: { type: 'tags', beforeKey: '<arg_key>', separator: '', text: PAIR, other: PAIR },
  closings: ['</tool_call>'],
};
const KIMI: ToolFormat = {
  ...CODER,
  begin: '<|calls_begin|>',
  before: '<|call_begin|>functions.',
  between: `:${ID_PLACE}<|argument_begin|>`,
  after: '<|call_end|>',
  separator: '',
  end: '<|calls_end|>',
  arguments: { type: 'json' },
  openings: ['<|calls_begin|>'],
  closings: ['<|call_end|>', '<|calls_end|>'],
};
const MISTRAL: ToolFormat = { ...TOOL_FORMATS['mistral-args'], between: `[CALL_ID]${ID_PLACE}[ARGS]` };
const getUnshown = (text: string): ToolFormat =>
  UNSHOWN_FORMATS.find(({ mark }) => mark.includes(text))?.format ?? CODER;
const FUNCTION_TAG: ToolFormat = {
  ...TOOL_FORMATS['mistral-args'],
  before: '<function=',
  between: '>',
  after: '</function>',
  closings: ['</function>'],
};
const GIGACHAT: ToolFormat = {
  ...TOOL_FORMATS.hermes,
  before: '<|message_sep|>\n\nfunction call<|role_sep|>\n{"name": "',
  after: '}',
  openings: ['<|message_sep|>'],
  closings: [],
};
const KIMI_K2: ToolFormat = { ...KIMI, begin: '<|tool_calls_section_begin|>', end: '<|tool_calls_section_end|>' };
const LFM2 = getUnshown('List of tools');
const PYTHONIC = getUnshown('func_name1');
const HERMES = TOOL_FORMATS.hermes;
const PARAMETER = { beforeValue: '">', afterValue: '</parameter>' };
const MINIMAX: ToolFormat = {
  ...CODER,
  begin: '<calls>',
  before: '\n<invoke name="',
  between: '">',
  after: '\n</invoke>',
  separator: '',
  end: '\n</calls>',
  arguments: { type: 'tags', beforeKey: '\n<parameter name="', separator: '', text: PARAMETER, other: PARAMETER },
  openings: ['<calls>'],
  closings: ['</invoke>', '</calls>'],
};
const DSML: ToolFormat = {
  ...MINIMAX,
  arguments: {
    type: 'tags',
    beforeKey: '\n<parameter name="',
    separator: '',
    text: { ...PARAMETER, beforeValue: '" string="true">' },
    other: { ...PARAMETER, beforeValue: '" string="false">' },
  },
};
/** DeepSeek V4: its marks are tags after a special token. */
const DSML_VALUE = { beforeValue: '" string="false">', afterValue: '</｜DSML｜parameter>' };
const DSML_TOKENS: ToolFormat = {
  ...MINIMAX,
  begin: '<｜DSML｜tool_calls>',
  before: '\n<｜DSML｜invoke name="',
  between: '">',
  after: '\n</｜DSML｜invoke>',
  separator: '',
  end: '\n</｜DSML｜tool_calls>',
  arguments: {
    type: 'tags',
    beforeKey: '\n<｜DSML｜parameter name="',
    separator: '',
    text: { ...DSML_VALUE, beforeValue: '" string="true">' },
    other: DSML_VALUE,
  },
  openings: ['<｜DSML｜tool_calls>', '<｜DSML｜invoke'],
  closings: ['</｜DSML｜invoke>', '</｜DSML｜tool_calls>'],
};
const HY_PAIR = { beforeValue: '</arg_key:opensource><arg_value:opensource>', afterValue: '</arg_value:opensource>' };
const HUNYUAN: ToolFormat = {
  ...CODER,
  begin: '<tool_calls:opensource>',
  before: '<tool_call:opensource>',
  between: '<tool_sep:opensource>',
  after: '</tool_call:opensource>',
  separator: '',
  end: '</tool_calls:opensource>',
  arguments: { type: 'tags', beforeKey: '<arg_key:opensource>', separator: '', text: HY_PAIR, other: HY_PAIR },
  openings: ['<tool_calls:opensource>'],
  closings: ['</tool_call:opensource>', '</tool_calls:opensource>'],
};
const APERTUS: ToolFormat = {
  ...CODER,
  begin: '<|tools_prefix|>[',
  before: '{"',
  between: '": ',
  after: '}',
  separator: ', ',
  end: ']<|tools_suffix|>',
  arguments: { type: 'json' },
  openings: ['<|tools_prefix|>'],
  closings: ['}', ']', '<|tools_suffix|>'],
};
const COHERE: ToolFormat = {
  ...TOOL_FORMATS.mistral,
  begin: '<|START_ACTION|>[',
  before: `{"tool_call_id": "${ID_PLACE}", "tool_name": "`,
  between: '", "parameters": ',
  openings: ['<|START_ACTION|>'],
};

const GEMMA: ToolFormat = {
  ...CODER,
  before: '<|tool_call>call:',
  between: '{',
  after: '}<tool_call|>',
  arguments: { type: 'literals', beforeKey: '', separator: ',', assign: ':', quote: '<|"|>' },
  openings: ['<|tool_call>'],
  closings: ['}', '<tool_call|>'],
};
const SECTION: ToolFormat = {
  ...MINIMAX,
  begin: '<｜ML｜calls>',
  before: '<｜ML｜invoke name="',
  after: '</｜ML｜invoke>',
  end: '</｜ML｜calls>',
  arguments: { type: 'tags', beforeKey: '<｜ML｜parameter name="', separator: '', text: PARAMETER, other: PARAMETER },
  openings: ['<｜ML｜calls>'],
  closings: ['</｜ML｜invoke>', '</｜ML｜calls>'],
};

/** Parses an answer in one piece and by characters. */
function read(text: string, format: ToolFormat): { content: string; calls: readonly unknown[] } {
  const [whole, pieces] = [[text], [...text]].map((parts) => {
    const { content, calls } = readCalls(parts, { format, tools: TOOLS });
    return {
      content: content.join(''),
      calls: calls.map((call) => [call.name, JSON.parse(call.arguments) as unknown]),
    };
  });
  assert.ok(whole);
  assert.deepEqual(pieces, whole);
  return whole;
}

const ADD = ['add', { a: 1 }];

describe('calls that differ from their format', () => {
  for (const [what, format, text] of [
    ['Python', HERMES, `<tool_call>{'name': 'add', 'arguments': {'a': 1}}</tool_call>`],
    ['Python at the start of a line', HERMES, `{'name': 'add', 'arguments': {'a': 1}}`],
    [
      'an object in an object',
      HERMES,
      `<tool_call>{"type": "function", "function": {"name": "add", "arguments": {"a": 1}}}</tool_call>`,
    ],
    ['an object in an object without a type', HERMES, '{"function": {"name": "add", "arguments": {"a": 1}}}'],
    ['a brace too many', HERMES, '<tool_call>{"name": "add", "arguments": {"a": 1}}}</tool_call>'],
    [
      'a brace too many after marks',
      KIMI,
      '<|calls_begin|><|call_begin|>functions.add:0<|argument_begin|>{"a": 1}}<|call_end|>',
    ],
    ['arguments before the name', TOOL_FORMATS.llama3, '{"parameters": {"a": 1}, "name": "add"}'],
    [
      'bars of ASCII',
      TOOL_FORMATS['deepseek-v31'],
      '<|tool▁calls▁begin|><|tool▁call▁begin|>add<|tool▁sep|>{"a": 1}<|tool▁call▁end|><|tool▁calls▁end|>',
    ],
    [
      'the form of another version',
      TOOL_FORMATS.deepseek,
      '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>add<｜tool▁sep｜>{"a": 1}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    ],
    [
      'the form of an older version',
      TOOL_FORMATS['deepseek-v31'],
      '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>add\n```json\n{"a": 1}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    ],
    ['a call without the brackets of its list', LFM2, '<|tool_call_start|>add(a=1)<|tool_call_end|>'],
    [
      'attributes without quotes',
      MINIMAX,
      '<calls>\n<invoke name=add>\n<parameter name=a>1</parameter>\n</invoke>\n</calls>',
    ],
    [
      'no attribute that tells strings',
      DSML,
      '<calls>\n<invoke name="add">\n<parameter name="a">1</parameter>\n</invoke>\n</calls>',
    ],
    [
      'blanks after the special tokens of tags, and another tag around the calls',
      DSML_TOKENS,
      '<｜DSML｜ calls>\n<｜DSML｜ invoke name="add">\n<｜DSML｜ parameter name="a" string="false">1</｜DSML｜ parameter>\n</｜DSML｜ invoke>\n</｜DSML｜ calls>',
    ],
    [
      'a tag around a call',
      MINIMAX,
      '<tool_call><invoke name="add"><parameter name="a">1</parameter></invoke></tool_call>',
    ],
    [
      'tags without their suffix',
      HUNYUAN,
      '<tool_calls><tool_call>add<tool_sep><arg_key>a</arg_key><arg_value>1</arg_value></tool_call></tool_calls>',
    ],
    ['a blank before a colon', APERTUS, '<|tools_prefix|>[{ "add" : {"a": 1}}]<|tools_suffix|>'],
    ['a name on a line of its own', getUnshown('Json'), 'add\n{"a": 1}'],
    ['line breaks between tags', GLM, '<tool_call>\nadd\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n</tool_call>'],
    ['no mark after a value', GLM, '<tool_call>add<arg_key>a</arg_key><arg_value>1</tool_call>'],
    [
      'no mark before the next key',
      GLM,
      '<tool_call>add<arg_key>a</arg_key><arg_value>1<arg_key>a</arg_key></tool_call>',
    ],
    [
      'a key without a value',
      GLM,
      '<tool_call>add<arg_key>note</arg_key><arg_key>a</arg_key><arg_value>1</arg_value></tool_call>',
    ],
    ['blanks around a key', GLM, '<tool_call>add<arg_key> a </arg_key><arg_value>1</arg_value></tool_call>'],
    ['no line breaks', CODER, '<tool_call><function=add><parameter=a>1</parameter></function></tool_call>'],
    ['no outer tag', CODER, '<function=add>\n<parameter=a>1</parameter>\n</function>'],
    ['blanks around marks', KIMI, '<|calls_begin|> <|call_begin|> functions.add:0 <|argument_begin|> {"a": 1}'],
    ['no namespace', KIMI, '<|calls_begin|><|call_begin|>add:0<|argument_begin|>{"a": 1}<|call_end|><|calls_end|>'],
    ['no id', KIMI, '<|calls_begin|><|call_begin|>functions.add<|argument_begin|>{"a": 1}<|call_end|><|calls_end|>'],
    ['no id and its mark', MISTRAL, '[TOOL_CALLS] add [ARGS] {"a": 1}'],
    ['no mark before the object', MISTRAL, '[TOOL_CALLS]add{"a": 1}'],
    ['other blanks in marks', TOOL_FORMATS['deepseek-v31'], '<｜tool_call_begin｜>add<｜tool sep｜>{"a": 1}'],
    ['blanks in a list', LFM2, '<|tool_call_start|>\n[ add(\n  a = 1,\n) ]\n<|tool_call_end|>'],
    ['no mark after a list', LFM2, '<|tool_call_start|>[add(a=1)]'],
    ['a list without marks', PYTHONIC, '[add(a=1)]'],
    ['marks around a list', PYTHONIC, '<|python_start|>[add(a=1)]<|python_end|>'],
    ['an object without its id', COHERE, '<|START_ACTION|>[{"tool_name": "add", "parameters": {"a": 1}}]'],
    ['a number as the id', COHERE, '<|START_ACTION|>[{"tool_call_id": 0, "tool_name": "add", "parameters": {"a": 1}}]'],
    [
      'a list in a fence',
      getUnshown('list of actions'),
      'Action: ```json\n[{"tool_name": "add", "parameters": {"a": 1}}]\n```',
    ],
    ['a call of a tool that is built in', TOOL_FORMATS.llama3, '<|python_tag|>add.call(a=1)'],
    ['marks of a newer model', TOOL_FORMATS.mistral, '[TOOL_CALLS]add[ARGS]{"a": 1}'],
    [
      'a fence in a tag',
      TOOL_FORMATS.hermes,
      '<tool_call>\n```json\n{"name": "add", "arguments": {"a": 1}}\n```\n</tool_call>',
    ],
    ['a tag in a fence', TOOL_FORMATS.json, '```xml\n<xml>\n{"name": "add", "arguments": {"a": 1}}\n</xml>\n```'],
    ['a missing mark before words', GIGACHAT, 'function call<|role_sep|>\n{"name": "add", "arguments": {"a": 1}}'],
    [
      'another spelling of a mark',
      KIMI_K2,
      '<|tool_call_section_begin|><|call_begin|>functions.add:0<|argument_begin|>{"a": 1}',
    ],
    [
      'a missing mark after the first',
      TOOL_FORMATS.deepseek,
      '<｜tool▁calls▁begin｜>function<｜tool▁sep｜>add\n```json\n{"a": 1}\n```',
    ],
    [
      'a token that ends the turn',
      TOOL_FORMATS.hermes,
      '<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call><|im_end|>\n',
    ],
    [
      'a list after words',
      { ...TOOL_FORMATS.json, begin: '[', end: ']' },
      '[{"name": "add", "arguments": {"a": 1}}]<|eot|>',
    ],
    ['arguments first', TOOL_FORMATS.hermes, '<tool_call>{"arguments": {"a": 1}, "name": "add"}</tool_call>'],
    ['arguments first, in a list', TOOL_FORMATS.mistral, '[TOOL_CALLS] [{"arguments": {"a": 1}, "name": "add"}]'],
    [
      'tags of coding models',
      HERMES,
      '<tool_call>\n<function=add>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>',
    ],
    ['tags of coding models without an outer tag', LFM2, '<function=add><parameter=a>1</parameter></function>'],
    [
      'tags with attributes',
      GLM,
      '<function_calls>\n<invoke name="add">\n<parameter name="a">1</parameter>\n</invoke>\n</function_calls>',
    ],
    ['an object between marks of another syntax', MINIMAX, '<calls>{"name": "add", "arguments": {"a": 1}}</calls>'],
    [
      'no sign after a name',
      CODER,
      '<tool_call>\n<function=add\n<parameter=a>1</parameter>\n</function>\n</tool_call>',
    ],
    ['no word before a colon', GEMMA, '<|tool_call>:add{a:1}<tool_call|>'],
    ['no brace after arguments', GEMMA, '<|tool_call>call:add{a:1<tool_call|>'],
    [
      'another word in the outer mark',
      SECTION,
      '<｜ML｜tool_calls>\n<｜ML｜invoke name="add">\n<｜ML｜parameter name="a">1</parameter>\n</｜ML｜invoke>\n</｜ML｜tool_calls>',
    ],
    ['an object of all arguments', CODER, '<function=add><parameter=arguments>{"a": 1}</parameter></function>'],
    ['a number with zeros before it', LFM2, '<|tool_call_start|>[add(a=01)]<|tool_call_end|>'],
    [
      'a number that is marked as a string',
      DSML,
      '<calls><invoke name="add"><parameter name="a" string="true">1</parameter></invoke></calls>',
    ],
  ] as const)
    it(`are parsed: ${what}`, () => assert.deepEqual(read(text, format), { content: '', calls: [ADD] }));

  it('may call tools that are not declared, also in a namespace', () => {
    assert.deepEqual(read('<|tool_call>call:shop.find{a:1}<tool_call|>', GEMMA).calls, [['shop.find', { a: 1 }]]);
    assert.deepEqual(read('<|calls_begin|><|call_begin|>functions.shop.find:0<|argument_begin|>{}', KIMI).calls, [
      ['shop.find', {}],
    ]);
    const functionary = getUnshown('>>>all');
    assert.deepEqual(read('>>>find\n{"a": 1}', functionary).calls, [['find', { a: 1 }]]);
    assert.deepEqual(read('>>>all\n{"a": 1}', functionary).calls, []);
    for (const text of ['<function=find><parameter=a>1</parameter></function>', '<calls>{"name": "find"}</calls>'])
      assert.deepEqual(read(text, text.startsWith('<f') ? HERMES : MINIMAX), { content: text, calls: [] });
  });

  it('keep quotes and marks in a value that do not end it', () => {
    for (const [format, text, note] of [
      [LFM2, `<|tool_call_start|>[add(note='cut -d '/' -f 2 'x y'')]<|tool_call_end|>`, "cut -d '/' -f 2 'x y'"],
      [
        GLM,
        '<tool_call>add<arg_key>note</arg_key><arg_value>a <arg_key> and\n<arg_key>\tb > c</arg_value></tool_call>',
        'a <arg_key> and\n<arg_key>\tb > c',
      ],
      [
        GLM,
        `<tool_call>add<arg_key>note</arg_key><arg_value>${'<p>a</p> '.repeat(40)}</arg_value></tool_call>`,
        '<p>a</p> '.repeat(40),
      ],
    ] as const)
      assert.deepEqual(read(text, format), { content: '', calls: [['add', { note }]] }, text);
  });

  it('end a value whose mark is missing at the mark of a call that no value contains', () => {
    const value = { beforeValue: '>', afterValue: `[|</${KEY_PLACE}>` };
    const format: ToolFormat = {
      ...MINIMAX,
      before: '[|<invoke name="',
      after: '[|</invoke>',
      end: '[|</calls>',
      arguments: { type: 'tags', beforeKey: '[|<', separator: '', text: value, other: value },
      closings: ['[|</invoke>', '[|</calls>'],
    };
    assert.deepEqual(read('<calls>[|<invoke name="add">[|<note>a [|b[|</invoke>[|</calls>Bye', format), {
      content: 'Bye',
      calls: [['add', { note: 'a [|b' }]],
    });
  });

  it('end a value whose mark is missing at a mark of the next key that no value contains', () =>
    assert.deepEqual(
      read(
        '<｜ML｜calls><｜ML｜invoke name="add"><｜ML｜parameter name="note">x <b><｜ML｜parameter name="a">1</parameter>',
        SECTION,
      ).calls,
      [['add', { note: 'x <b>', a: 1 }]],
    ));

  it('have a list of the values of a nested key that is repeated', () => {
    const value = { beforeValue: '>', afterValue: `</${KEY_PLACE}>` };
    const format: ToolFormat = {
      ...MINIMAX,
      arguments: { type: 'tags', beforeKey: '<', separator: '', text: value, other: value },
    };
    assert.deepEqual(
      read('<calls><invoke name="add"><deep><tag>x</tag><tag>y</tag><b>1</b></deep></invoke>', format).calls,
      [['add', { deep: { tag: ['x', 'y'], b: 1 } }]],
    );
    // A text that contains such tags stays text where the schema allows no object.
    assert.deepEqual(read('<calls><invoke name="add"><note><b>x</b></note></invoke>', format).calls, [
      ['add', { note: '<b>x</b>' }],
    ]);
  });

  it('keep an object under a key that may be that of all arguments where it has none of them', () =>
    assert.deepEqual(read('<function=add><parameter=arguments>{"x": 1}</parameter></function>', CODER).calls, [
      ['add', { arguments: { x: 1 } }],
    ]));

  it('have the name of a tool that starts with the name of another one', () => {
    const functionary = { ...getUnshown('>>>all'), openings: [] };
    for (const [format, text] of [
      [GLM, '<tool_call>add_more<arg_key>a</arg_key><arg_value>1</arg_value></tool_call>'],
      [GLM, '<tool_call>add_more\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n</tool_call>'],
      [functionary, '>>>add_more\n{"a": 1}'],
      [CODER, '<tool_call><function=add_more><parameter=a>1</parameter></function></tool_call>'],
      [MISTRAL, '[TOOL_CALLS]add_more{"a": 1}'],
    ] as const)
      assert.deepEqual(read(text, format), { content: '', calls: [['add_more', { a: 1 }]] }, text);
    for (const text of ['>>>add(1)', '>>>add\n1'])
      assert.deepEqual(read(text, functionary), { content: text, calls: [] });
  });

  it('are parsed one after the other', () => {
    assert.deepEqual(read('[TOOL_CALLS]add{"a": 1}[TOOL_CALLS]stop{}', MISTRAL).calls, [ADD, ['stop', {}]]);
    assert.deepEqual(read('<function=stop>\n</function>\n<function=stop></function>', CODER).calls, [
      ['stop', {}],
      ['stop', {}],
    ]);
  });

  it('are parsed with arguments first, whatever these contain', () => {
    const values = { note: 'a "}" \\ {', deep: [{ x: [] }, '<tool_call>{"arguments": {'] };
    const text = `<tool_call>\n{"arguments": ${JSON.stringify(values)}, "name": "add"}\n</tool_call>\nDone.`;
    assert.deepEqual(read(text, TOOL_FORMATS.hermes), { content: 'Done.', calls: [['add', values]] });
  });

  it('are text in a format without marks where a list holds no call of a declared tool', () => {
    for (const text of ['See [add] and [stop]', '[add[0]]', '[other(a=1)]'])
      assert.deepEqual(read(text, PYTHONIC), { content: text, calls: [] });
    for (const blank of [' ', '\n'])
      assert.deepEqual(read(`Now:${blank}[add(a=1), stop()]`, PYTHONIC), {
        content: 'Now:',
        calls: [ADD, ['stop', {}]],
      });
    assert.deepEqual(read(String.raw`[add(note="\d\"")]`, PYTHONIC).calls, [['add', { note: String.raw`\d"` }]]);
  });

  it('are text where a tag with the name of a tool stands in a text', () => {
    for (const text of ['Use <function=add> here.', 'Use <function=add>', '<function name="add"> is XML'])
      for (const format of [TOOL_FORMATS.hermes, { ...FUNCTION_TAG, openings: ['<function='] }])
        assert.deepEqual(read(text, format), { content: text, calls: [] });
    assert.deepEqual(read('<function=stop></function>', FUNCTION_TAG).calls, [['stop', {}]]);
  });

  it('are text where only the mark of a call stands', () => {
    for (const text of ['Use <function=add> or <tool_call>.', '[TOOL_CALLS]add', 'Write <function=add>\n<b>.'])
      assert.deepEqual(read(text, text.startsWith('[') ? MISTRAL : CODER), { content: text, calls: [] });
  });
});

describe('texts without quotes among literals', () => {
  it('may have several words', () =>
    assert.deepEqual(read('<|tool_call>call:add{note:New York , a: 3 ,b: true}<tool_call|>', GEMMA), {
      content: '',
      calls: [['add', { note: 'New York', a: 3, b: true }]],
    }));
});

describe('values of several types', () => {
  for (const [key, text, value] of [
    ['note', '12', '12'],
    ['note', 'null', null],
    ['note', '["a"]', '["a"]'],
    ['either', '12', 12],
    ['either', '1.5', '1.5'],
    ['a', 'x', 'x'],
    ['unknown', '12', 12],
  ] as const)
    it(`become what their schema allows: ${key} ${text}`, () => {
      const expected = { content: '', calls: [['add', { [key]: value }]] };
      const tags = `<tool_call>\n<function=add>\n<parameter=${key}>${text}</parameter>\n</function>\n</tool_call>`;
      assert.deepEqual(read(tags, CODER), expected);
      if (/^[\w.]+$/.test(text))
        assert.deepEqual(read(`<|tool_call>call:add{${key}:${text}}<tool_call|>`, GEMMA), expected);
    });
});
