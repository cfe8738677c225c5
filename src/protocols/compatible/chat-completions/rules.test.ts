import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ModelEntry } from '../../../catalogue/model.ts';
import { ServiceError } from '../../../core/error.ts';
import { parseBody } from '../../parse.ts';
import { decodeChatCompletion } from './decode.ts';
import { listIgnoredChatFields } from './ignored-fields.ts';
import { checkChatRules } from './rules.ts';
import { ChatCompletionBody, createChatTexts, type ChatCompletionWire } from './schema.ts';

const entry: ModelEntry = {
  name: 'svc-plus',
  description: '',
  runner: { type: 'none', reason: 'a test' },
  contextTokens: 4096,
  abilities: {
    thinking: 'prompted',
    tools: true,
    vision: false,
    audio: false,
    logprobs: true,
    fillInTheMiddle: false,
  },
  interfaces: ['chat'],
  sampling: {},
  created: 0,
};
const { thinking: _, ...withoutThinking } = entry.abilities;
const thoughtless: ModelEntry = { ...entry, abilities: withoutThinking };
const user = { role: 'user', content: 'Hi' };
const tool = { type: 'function', function: { name: 'f' } };
const call = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } };

const json = [{ role: 'user', content: 'As JSON, please' }];
const marked = (cache_control: object) => [{ role: 'user', content: [{ type: 'text', text: 'x', cache_control }] }];
const schemaFormat = (json_schema: object) => ({ response_format: { type: 'json_schema', json_schema } });

function parseRequest(fields: object, modelEntry = entry): ChatCompletionWire {
  const body: unknown = JSON.parse(JSON.stringify({ model: 'svc-plus', messages: [user], ...fields }));
  const { wire } = parseBody(ChatCompletionBody, body, { texts: createChatTexts(modelEntry) });
  checkChatRules(wire, modelEntry);
  return wire;
}

/** Request fields, and the beginning of the expected error message. */
const refused: readonly (readonly [object, string])[] = [
  [{ model: undefined }, 'Required parameter(model) missing'],
  [{ model: '' }, 'Required parameter(model) missing or invalid'],
  [{ messages: undefined }, 'messages must be an array'],
  [{ messages: [] }, "[] is too short - 'messages' (messages: an array of 0)"],
  [{ messages: 'Hi' }, 'messages must be an array of 1 to'],
  [{ messages: [{ role: 'bot', content: 'x' }] }, 'Role must be one of'],
  [{ messages: [{ content: 'x' }] }, 'Role must be one of'],
  [{ messages: [{ role: 'user' }] }, 'The content field is a required field. (messages[0].content: missing)'],
  [{ messages: [{ role: 'user', content: null }] }, 'The content field is a required field.'],
  [{ messages: [{ role: 'user', content: 7 }] }, 'input content must be a string. (messages[0].content: 7)'],
  [{ messages: [{ role: 'user', content: [] }] }, 'input content must be a string.'],
  [
    { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://x' } }] }] },
    'input content must be a string. (messages[0].content[0].type: "image_url"; svc-plus has no such input)',
  ],
  [
    { messages: [{ role: 'user', content: [{ type: 'text', text: 'a' }, { type: 'input_audio' }] }] },
    'input content must be a string. (messages[0].content[1].type: "input_audio"; svc-plus',
  ],
  [{ messages: [{ role: 'user', content: [{ type: 'smell' }] }] }, 'input content must be a string.'],
  [{ messages: [user, { role: 'tool', content: 'x', tool_call_id: 'a' }] }, 'messages with role "tool" must be'],
  [
    {
      messages: [
        user,
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'tool', content: 'x', tool_call_id: 'call_2' },
      ],
    },
    'messages with role "tool" must be a response to a preceding message with "tool_calls" that has its id (messages[2].tool_call_id',
  ],
  [
    {
      messages: [
        { role: 'assistant', content: null, tool_calls: [call] },
        user,
        { role: 'tool', content: 'x', tool_call_id: 'call_1' },
      ],
    },
    'messages with role "tool" must be a response to a preceding message with "tool_calls" (messages[2])',
  ],
  [{ messages: [user, { role: 'assistant', content: null, tool_calls: [] }] }, 'The content field is a required'],
  [
    { messages: [user, { role: 'assistant', tool_calls: [{ ...call, function: { name: 'f', arguments: {} } }] }] },
    'messages[1].tool_calls[0].function.arguments must be a string, got an object.',
  ],
  [
    { messages: [user, { role: 'assistant', content: 'x', tool_calls: [call], partial: true }] },
    'A message with tool_calls cannot be partial (messages[1].partial)',
  ],
  [{ messages: marked({ type: 'persistent' }) }, 'cache_control must be {"type": "ephemeral"}'],
  [{ messages: marked({ type: 'ephemeral', ttl: '1h' }) }, 'cache_control must be {"type": "ephemeral"}'],
  [
    { messages: Array.from({ length: 5 }, () => marked({ type: 'ephemeral' })).flat() },
    'cache_control is allowed on at most 4 parts of a request (messages[4].content[0].cache_control)',
  ],
  [{ messages: [user, { role: 'tool', content: 'x' }] }, 'Required parameter(messages[1].tool_call_id)'],
  [{ messages: [user, { role: 'assistant' }] }, 'The content field is a required field.'],
  [{ messages: [{ role: 'assistant', content: 'x', partial: true }, user] }, 'Only the last message may be partial'],
  [{ stream: 'true' }, 'stream must be true or false, got "true".'],
  [{ stream: true, stream_options: { include_usage: 1 } }, 'stream_options.include_usage must be true or false'],
  [{ n: 0 }, 'Range of n should be [1, 4] (n: 0)'],
  [{ n: 5 }, 'Range of n should be [1, 4]'],
  [{ n: '2' }, 'Range of n should be [1, 4] (n: "2")'],
  [{ n: 1.5 }, 'Range of n should be [1, 4]'],
  [{ max_tokens: 0 }, 'Range of max_tokens should be [1, 4096] (max_tokens: 0)'],
  [{ max_completion_tokens: -1 }, 'Range of max_completion_tokens should be [1, 4096]'],
  [{ temperature: 2 }, 'Temperature should be in [0.0, 2.0) (temperature: 2)'],
  [{ temperature: -0.1 }, 'Temperature should be in [0.0, 2.0)'],
  [{ temperature: '0.5' }, "'temperature' must be Float"],
  [{ top_p: 0 }, 'Range of top_p should be (0.0, 1.0]'],
  [{ top_p: 1.01 }, 'Range of top_p should be (0.0, 1.0]'],
  [{ top_k: -1 }, 'Parameter top_k be greater than or equal to 0'],
  [{ top_k: 1.5 }, 'Parameter top_k'],
  [{ min_p: 1.5 }, 'Range of min_p should be [0.0, 1.0]'],
  [{ presence_penalty: 2.1 }, 'Presence_penalty should be in [-2.0, 2.0]'],
  [{ frequency_penalty: -2.1 }, 'Frequency_penalty should be in [-2.0, 2.0]'],
  [{ repetition_penalty: 0 }, 'Repetition_penalty should be greater than 0.0'],
  [{ seed: -1 }, 'Range of seed should be [0, 2147483647] (seed: -1)'],
  [{ seed: 2147483648 }, 'Range of seed should be [0, 2147483647]'],
  [{ stop: ['a', 1] }, 'stop must be a string, or an array'],
  [{ stop: [[1]] }, 'stop must be a string, or an array'],
  [{ stop: '' }, 'A stop sequence must not be empty'],
  [{ stop: ['a', ''] }, 'A stop sequence must not be empty'],
  [{ stop: Array.from({ length: 17 }, () => 'a') }, 'stop must be a string, or an array of at most 16'],
  [{ stop: 'é'.repeat(257) }, 'A stop sequence must have at most 256 characters'],
  [{ stop: 5 }, 'stop must be a string'],
  [{ top_logprobs: 2 }, 'top_logprobs is only allowed when logprobs is true (top_logprobs: 2)'],
  [{ logprobs: true, top_logprobs: 6 }, 'Range of top_logprobs should be [0, 5]'],
  [{ logprobs: 1 }, 'logprobs must be true or false, got 1.'],
  [{ logit_bias: { 5: 101 } }, 'logit_bias must map token ids'],
  [{ logit_bias: { abc: 1 } }, 'logit_bias must map token ids'],
  [{ logit_bias: { 5: '1' } }, 'logit_bias must map token ids'],
  [{ logit_bias: [1] }, 'logit_bias must be an object'],
  [{ functions: [] }, 'functions is not served, use tools (functions)'],
  [{ function_call: 'auto' }, 'function_call is not served, use tool_choice'],
  [{ tools: [{ type: 'web' }] }, 'tools[0].type must be "function"'],
  [{ tools: [{ function: { name: 'f' } }] }, 'Required parameter(tools[0].type) missing'],
  [{ tools: [{ type: 'function' }] }, 'Required parameter(tools[0].function) missing'],
  [{ tools: {} }, 'tools must be an array'],
  [{ tools: [{ type: 'function', function: {} }] }, "A function's name has 1 to 512"],
  [{ tools: [{ type: 'function', function: { name: '' } }] }, "A function's name has 1 to 512"],
  [{ tools: [{ type: 'function', function: { name: 'a b' } }] }, "A function's name has 1 to 512"],
  [{ tools: [{ type: 'function', function: { name: 'größe' } }] }, "A function's name has 1 to 512"],
  [{ tools: [{ type: 'function', function: { name: 'f\n' } }] }, "A function's name has 1 to 512"],
  [{ tools: [{ type: 'function', function: { name: 'a'.repeat(513) } }] }, "A function's name has 1 to 512"],
  [{ tools: [{ type: 'function', function: { name: 'f', description: 5 } }] }, 'tools[0].function.description must be'],
  [{ tools: [{ type: 'function', function: { name: 'f', parameters: [] } }] }, 'tools[0].function.parameters must be'],
  [
    { tools: [{ type: 'function', function: { name: 'f', parameters: true } }] },
    'tools[0].function.parameters must be',
  ],
  [
    { tools: [{ type: 'function', function: { name: 'f', parameters: '{}' } }] },
    'tools[0].function.parameters must be',
  ],
  [{ tools: [{ type: 'function', function: { name: 'f', strict: 'yes' } }] }, 'tools[0].function.strict must be true'],
  [
    { tools: [tool, { type: 'function', function: { name: 'search' } }] },
    'Tool names are not allowed to be [search] (tools[1].function.name)',
  ],
  [{ tools: [tool, tool] }, 'Tool names must be unique (tools[1].function.name)'],
  [{ tools: Array.from({ length: 513 }, () => tool) }, 'tools must have at most 512 items'],
  [{ tools: [tool], tool_choice: 'any' }, 'tool_choice is one of the strings'],
  [{ tools: [tool], tool_choice: { type: 'allowed_tools' } }, 'tool_choice is one of the strings'],
  [{ tools: [tool], tool_choice: { type: 'function', function: { name: 'f g' } } }, "A function's name has 1 to 512"],
  [{ tool_choice: 'required' }, 'tool_choice needs tools'],
  [{ tools: [], tool_choice: { type: 'function', function: { name: 'f' } } }, 'tool_choice needs tools'],
  [
    { messages: [user, { role: 'assistant', content: 'Well', partial: true }], enable_thinking: true },
    'A partial message cannot be continued while thinking is on',
  ],
  [{ tools: [tool], n: 2 }, 'n must be 1 when tools are given'],
  [
    { tools: [tool], tool_choice: { type: 'function', function: { name: 'f' } }, enable_thinking: true },
    'tool_choice cannot force a function while enable_thinking',
  ],
  [
    { tools: [tool], tool_choice: { type: 'function', function: { name: 'g' } } },
    'tool_choice names a function that is not among tools (tool_choice.function.name: "g")',
  ],
  [{ parallel_tool_calls: 'yes' }, 'parallel_tool_calls must be true or false'],
  [{ tool_stream: 1 }, 'tool_stream must be true or false'],
  [{ enable_thinking: 'on' }, 'enable_thinking must be true or false'],
  [{ thinking: { type: 'maybe' } }, 'thinking.type must be one of "adaptive"'],
  [{ preserve_thinking: 0 }, 'preserve_thinking must be true or false'],
  [{ thinking_budget: 0 }, 'The thinking_budget parameter must be a positive integer and not greater than 4096'],
  [{ reasoning_effort: 'huge' }, 'reasoning_effort must be one of "none"'],
  [{ response_format: { type: 'xml' } }, 'Unknown format of response_format'],
  [{ response_format: 'json_object' }, 'Unknown format of response_format'],
  [{ response_format: { type: 'json_object' } }, "'messages' must contain the word 'json'"],
  [
    { messages: [{ role: 'user', content: 'JSON!' }], response_format: { type: 'json_object' }, enable_thinking: true },
    'Json mode response is not supported when enable_thinking is true',
  ],
  [
    {
      messages: [
        { role: 'user', content: 'json' },
        { role: 'assistant', content: '{', partial: true },
      ],
      response_format: { type: 'json_object' },
    },
    'A partial message cannot be continued with response_format json_object (messages[1].partial)',
  ],
  [{ response_format: { type: 'json_schema' } }, 'Required parameter(response_format.json_schema) missing'],
  [schemaFormat({ schema: {} }), "A schema's name has 1 to 64"],
  [schemaFormat({ name: 'a b', schema: {} }), "A schema's name has 1 to 64"],
  [schemaFormat({ name: 'a'.repeat(65), schema: {} }), "A schema's name has 1 to 64"],
  [schemaFormat({ name: 'x' }), 'Required parameter(response_format.json_schema.schema) missing'],
  [schemaFormat({ name: 'x', schema: null }), 'response_format.json_schema.schema must be an object'],
  [schemaFormat({ name: 'x', schema: true }), 'response_format.json_schema.schema must be an object'],
  [schemaFormat({ name: 'x', schema: {}, strict: 1 }), 'response_format.json_schema.strict must be true or false'],
  [schemaFormat({ name: 'x', schema: {}, description: 1 }), 'response_format.json_schema.description must be a string'],
  [{ enable_code_interpreter: 'x' }, 'enable_code_interpreter must be true or false'],
  [{ enable_search: 'x' }, 'enable_search must be true or false'],
  [{ search_options: { forced_search: 1 } }, 'search_options.forced_search must be true or false'],
  [{ search_options: { search_strategy: 'best' } }, 'search_options.search_strategy must be one of "turbo"'],
  [{ search_options: [] }, 'search_options must be an object'],
  [{ modalities: ['text', 'audio'] }, 'modalities must be ["text"]'],
  [{ audio: { voice: 'x' } }, 'audio is not supported'],
];

for (const [fields, prefix] of refused) {
  test(`refuses ${JSON.stringify(fields).slice(0, 90)}`, () => {
    assert.throws(
      () => parseRequest(fields),
      (error) => {
        assert.ok(error instanceof ServiceError);
        assert.equal(error.kind, 'invalid-request');
        assert.ok(error.message.startsWith(prefix), error.message);
        return true;
      },
    );
  });
}

const accepted: readonly object[] = [
  { temperature: 0, top_p: 1, top_k: 0, min_p: 0, presence_penalty: -2, frequency_penalty: 2, seed: 0 },
  // Clients of the platform send it with every call; an unstreamed response contains the usage anyway.
  { stream_options: { include_usage: true } },
  { seed: 2147483647, n: 4, stream: true, stream_options: { include_usage: true } },
  { stop: ['é'.repeat(256)], logprobs: true, top_logprobs: 5, max_tokens: 1_000_000 },
  { stop: null, tools: null, n: null, stream: null, stream_options: null, response_format: null, functions: null },
  {
    messages: [
      { role: 'developer', content: 'a' },
      { role: 'user', content: '', name: 'Ann' },
    ],
  },
  { messages: [user, { role: 'assistant', content: 'Once', partial: true }] },
  {
    messages: [
      user,
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { ...call, index: 0 },
          { ...call, id: 'call_2', index: 1 },
        ],
        refusal: null,
        audio: null,
        function_call: null,
      },
      { role: 'tool', content: 'x', tool_call_id: 'call_1' },
      { role: 'tool', content: [{ type: 'text', text: 'y' }], tool_call_id: 'call_2' },
    ],
  },
  { tools: [tool], tool_choice: 'required', enable_thinking: true },
  { tools: [{ type: 'function', function: { name: 'a'.repeat(512), description: null, parameters: null } }] },
  { tools: [{ type: 'function', function: { name: 'F_-9', description: '', parameters: {}, strict: true } }] },
  { tool_choice: 'none' },
  { tools: [], tool_choice: 'auto', n: 2 },
  { messages: json, response_format: { type: 'json_object' } },
  { messages: [{ role: 'user', content: [{ type: 'text', text: 'jSoN' }] }], response_format: { type: 'json_object' } },
  { ...schemaFormat({ name: 'a'.repeat(64), schema: {}, strict: null, description: null }), enable_thinking: true },
  { messages: Array.from({ length: 4 }, () => marked({ type: 'ephemeral', ttl: '5m' })).flat() },
  { tools: [tool], tool_choice: { type: 'function', function: { name: 'f' } } },
  { modalities: ['text'], tools: [], tool_choice: 'none' },
  { messages: [{ role: 'user', content: 'a\u0000b \ud800' }] },
];

for (const fields of accepted) {
  test(`accepts ${JSON.stringify(fields).slice(0, 90)}`, () => assert.doesNotThrow(() => parseRequest(fields)));
}

test('requested thinking causes no error on a model that cannot think', () => {
  for (const fields of [
    { messages: json, response_format: { type: 'json_object' } },
    { messages: [user, { role: 'assistant', content: 'Well', partial: true }] },
    { tools: [tool], tool_choice: { type: 'function', function: { name: 'f' } } },
  ]) {
    assert.doesNotThrow(() => parseRequest({ ...fields, enable_thinking: true }, thoughtless));
    assert.throws(() => parseRequest({ ...fields, enable_thinking: true }), { kind: 'invalid-request' });
  }
});

test('decodes a request with all fields', () => {
  const wire = parseRequest({
    messages: [
      { role: 'system', content: [{ type: 'text', text: 'Be', cache_control: { type: 'ephemeral' } }] },
      { ...user, content: 'half \ud800', name: 'Ann' },
      { role: 'assistant', content: '', tool_calls: [call], reasoning_content: 'hm' },
      { role: 'tool', content: 'x', tool_call_id: 'call_1' },
    ],
    temperature: 0,
    top_p: 0.5,
    top_k: 101,
    logit_bias: { 5: -100 },
    seed: 7,
    n: 2,
    stop: [11, 12],
    max_tokens: 5,
    max_completion_tokens: 9,
    logprobs: true,
  });
  assert.deepEqual(decodeChatCompletion(wire), {
    model: 'svc-plus',
    messages: [
      { role: 'system', content: [{ type: 'text', text: 'Be', cache: 'ephemeral' }] },
      { role: 'user', content: [{ type: 'text', text: 'half \ufffd' }], name: 'Ann' },
      {
        role: 'assistant',
        content: [{ type: 'text', text: '' }],
        reasoning: 'hm',
        toolCalls: [{ id: 'call_1', name: 'f', arguments: '{}' }],
      },
      { role: 'tool', content: [{ type: 'text', text: 'x' }], toolCallId: 'call_1' },
    ],
    sampling: { temperature: 0, topP: 0.5, topK: 0, logitBias: new Map([[5, -100]]), seed: 7 },
    stop: { strings: [], tokens: [[11], [12]] },
    choices: 2,
    maxTokens: 5,
    maxTotalTokens: 9,
    logprobs: { top: 0 },
  });
});

test('decodes top_k: null turns it off, absent is the model default, up to 100 is kept', () => {
  assert.deepEqual(decodeChatCompletion(parseRequest({ top_k: null })).sampling, { topK: 0 });
  assert.deepEqual(decodeChatCompletion(parseRequest({})).sampling, {});
  assert.deepEqual(decodeChatCompletion(parseRequest({ top_k: 100 })).sampling, { topK: 100 });
});

test('decodes a single stop string', () => {
  assert.deepEqual(decodeChatCompletion(parseRequest({ stop: 'END' })).stop, { strings: ['END'], tokens: [] });
});

test('decodes tools with tool_choice, defaults and the paths of their schemas', () => {
  const schema = { type: 'object', properties: { city: { type: 'string' } } };
  const tools = [
    { type: 'function', function: { name: 'f', description: null, parameters: {} } },
    { type: 'function', function: { name: 'g', description: 'half \ud800', parameters: schema, strict: false } },
  ];
  const decoded = [
    { name: 'f', description: '', parameters: undefined, field: 'tools[0].function.parameters' },
    { name: 'g', description: 'half \ufffd', parameters: schema, field: 'tools[1].function.parameters' },
  ];
  const plain = { tools: decoded, choice: 'auto', isParallel: false, streamsComplexArguments: false };
  const use = (fields: object): unknown => decodeChatCompletion(parseRequest({ tools, ...fields })).toolUse;
  assert.deepEqual(use({}), plain);
  assert.deepEqual(use({ tool_choice: null, parallel_tool_calls: false, tool_stream: false }), plain);
  assert.deepEqual(use({ tool_choice: 'required', parallel_tool_calls: true, tool_stream: true }), {
    tools: decoded,
    choice: 'required',
    isParallel: true,
    streamsComplexArguments: true,
  });
  assert.deepEqual(use({ tool_choice: { type: 'function', function: { name: 'g' } } }), {
    ...plain,
    choice: { name: 'g' },
  });
});

test('decodes no tool use without tools or with tool_choice none', () => {
  for (const fields of [{}, { tools: [] }, { tools: null }, { tools: [tool], tool_choice: 'none' }]) {
    assert.ok(!('toolUse' in decodeChatCompletion(parseRequest(fields))));
  }
});

test('decodes response_format json_object and json_schema; text needs no format', () => {
  const schema = { type: 'object', ['__proto__x']: 1 };
  const format = (fields: object): unknown =>
    decodeChatCompletion(parseRequest({ messages: json, ...fields })).outputFormat;
  assert.equal(format({}), undefined);
  assert.equal(format({ response_format: { type: 'text' } }), undefined);
  assert.deepEqual(format({ response_format: { type: 'json_object' } }), { type: 'json-object' });
  for (const strict of [undefined, null, true, false]) {
    assert.deepEqual(format(schemaFormat({ name: 'x', schema, strict })), {
      type: 'json-schema',
      name: 'x',
      schema,
      field: 'response_format.json_schema.schema',
    });
  }
});

test('lists ignored fields, except explicit defaults', () => {
  assert.deepEqual(
    listIgnoredChatFields(parseRequest({ enable_search: false, tools: [tool], modalities: ['text'] })),
    [],
  );
  assert.deepEqual(listIgnoredChatFields(parseRequest({ search_options: { forced_search: true } })), [
    'search_options.forced_search',
  ]);
});

test('knows every field of a Parley response that a client sends back', () => {
  const answered = {
    role: 'assistant',
    content: '',
    reasoning_content: null,
    refusal: null,
    audio: null,
    function_call: null,
    tool_calls: [{ ...call, index: 0 }],
  };
  const body = {
    model: 'svc-plus',
    messages: [user, answered, { role: 'tool', content: 'x', tool_call_id: 'call_1' }],
  };
  assert.deepEqual(parseBody(ChatCompletionBody, body, { strict: true }).unknown, []);
});
