import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../../../core/error.ts';
import { decodeChatFields } from '../../fields/decode-chat.ts';
import { parseBody } from '../../parse.ts';
import { TEST_ENTRY } from './__fixtures__/golden-cases.ts';
import { listIgnoredGenerationFields } from './ignored-fields.ts';
import { toNativePath } from './to-native-path.ts';
import { parseGenerationFields, type ParsedGenerationFields } from './parse-generation-fields.ts';
import { GenerationBody, createGenerationTexts, type GenerationWire } from './schema.ts';

const user = { role: 'user', content: 'Hi' };
const tool = { type: 'function', function: { name: 'f', description: 'x' } };
const call = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } };
const { thinking: _, ...withoutThinking } = TEST_ENTRY.abilities;
const nonThinkingEntry = { ...TEST_ENTRY, abilities: withoutThinking };
const visionEntry = { ...TEST_ENTRY, abilities: { ...TEST_ENTRY.abilities, vision: true } };

interface ParseMode {
  readonly isMultimodal?: boolean;
  readonly isStreamed?: boolean;
  readonly entry?: typeof TEST_ENTRY;
}

function parseFields(
  body: object,
  { isMultimodal = false, isStreamed = false, entry = TEST_ENTRY }: ParseMode = {},
): ParsedGenerationFields & { wire: GenerationWire } {
  const requestBody: unknown = JSON.parse(JSON.stringify({ model: 'svc-plus', ...body }));
  const { wire } = parseBody(GenerationBody, requestBody, { texts: createGenerationTexts(entry) });
  return { wire, ...parseGenerationFields(wire, entry, { isMultimodal, isStreamed }) };
}

const parseParameters = (parameters: object, mode?: ParseMode) =>
  parseFields({ input: { messages: [user] }, parameters }, mode);
const parseMessages = (...messages: readonly object[]) => parseFields({ input: { messages } });

/** Calls, and the start of the error that each of them throws. */
const REJECTED: readonly (readonly [() => unknown, string])[] = [
  [() => parseFields({}), 'Either "prompt" or "messages" must exist and cannot both be none (input)'],
  [() => parseFields({ input: {} }), 'Either "prompt" or "messages" must exist and cannot both be none'],
  [
    () => parseFields({ input: { prompt: '' } }),
    'Either "prompt" or "messages" must exist and cannot both be none (input)',
  ],
  [() => parseFields({ input: { prompt: '', history: [{ user: 'a' }] } }), 'Either "prompt" or "messages" must exist'],
  [() => parseFields({ input: { history: [{ user: 'a', bot: 'b' }] } }), 'Either "prompt" or "messages" must exist'],
  [() => parseFields({ input: 'Hi' }), 'input must be an object, got a string of 2 characters.'],
  [() => parseFields({ input: { prompt: 7 } }), 'input.prompt must be a string, got 7.'],
  [() => parseFields({ input: { prompt: 'x', history: [{ user: 1 }] } }), 'input.history[0].user must be a string'],
  [() => parseFields({ input: { prompt: 'x' }, parameters: [] }), 'parameters must be an object'],
  [() => parseMessages(), "[] is too short - 'messages' (input.messages: an array of 0)"],
  [
    () => parseMessages({ role: 'bot', content: 'x' }),
    'Role must be user or assistant and Content length must be greater than 0 (input.messages[0].role: "bot")',
  ],
  [() => parseMessages({ content: 'x' }), 'Role must be user or assistant and Content length must be greater than 0'],
  [
    () => parseMessages({ role: 'user' }),
    'The content field is a required field. (input.messages[0].content: missing)',
  ],
  [
    () => parseMessages({ role: 'user', content: [] }),
    'The content field is a required field. (input.messages[0].content)',
  ],
  [() => parseMessages(user, { role: 'assistant' }), 'The content field is a required field.'],
  [() => parseMessages({ role: 'user', content: 7 }), 'input content must be a string. (input.messages[0].content: 7)'],
  [
    () => parseMessages({ role: 'user', content: ['x'] }),
    'input content must be a string. (input.messages[0].content[0]',
  ],
  [() => parseMessages({ role: 'user', content: [{ text: 1 }] }), 'input content must be a string.'],
  [() => parseMessages({ role: 'user', content: [{}] }), 'input content must be a string.'],
  [
    () => parseMessages({ role: 'user', content: [{ text: 'a' }, { image: 'https://x/a.png' }] }),
    'input content must be a string. The model svc-plus accepts text only (input.messages[0].content[1])',
  ],
  ...[{}, { text: 'Hear:' }].flatMap((beside) =>
    (['audio', 'input_audio', 'video', 'video_url', 'doc_url', 'file'] as const).map(
      (block): readonly [() => unknown, string] => [
        () => parseMessages({ role: 'user', content: [{ ...beside, [block]: ['https://x/a'] }] }),
        `input content must be a string. The model svc-plus accepts text only (input.messages[0].content[0].${block})`,
      ],
    ),
  ),
  [
    () =>
      parseFields(
        { input: { messages: [{ role: 'user', content: [{ video: ['https://x'] }] }] } },
        { entry: visionEntry },
      ),
    'input content must be a string. The model svc-plus accepts text and images only (input.messages[0].content[0].video)',
  ],
  [
    () => parseMessages(user, { role: 'tool', content: 'x', tool_call_id: 'a' }),
    'messages with role "tool" must be a response to a preceding message with "tool_calls" (input.messages[1])',
  ],
  [
    () => parseFields({ input: { messages: [user, { role: 'assistant', content: 'x', partial: true }], prompt: 'y' } }),
    'Only the last message may be partial (input.messages[1].partial)',
  ],
  [
    () => parseMessages({ role: 'user', content: [{ text: 'x', cache_control: { type: 'persistent' } }] }),
    'cache_control must be {"type": "ephemeral"}',
  ],
  [() => parseParameters({ temperature: 3 }), 'Temperature should be in [0.0, 2.0) (parameters.temperature: 3)'],
  [() => parseParameters({ temperature: 'hot' }), "'temperature' must be Float (parameters.temperature"],
  [() => parseParameters({ top_p: 0 }), 'Range of top_p should be (0.0, 1.0]'],
  [() => parseParameters({ top_k: -1 }), 'Parameter top_k be greater than or equal to 0'],
  [() => parseParameters({ repetition_penalty: 0 }), 'Repetition_penalty should be greater than 0.0'],
  [() => parseParameters({ presence_penalty: 3 }), 'Presence_penalty should be in [-2.0, 2.0]'],
  [() => parseParameters({ max_tokens: 0 }), 'Range of max_tokens should be [1, 4096] (parameters.max_tokens: 0)'],
  [() => parseParameters({ seed: -1 }), 'Range of seed should be [0, 2147483647]'],
  [() => parseParameters({ n: 5 }), 'Range of n should be [1, 4] (parameters.n: 5)'],
  [() => parseParameters({ stop: 5 }), 'stop must be a string, or an array of at most 16 strings, token ids or lists'],
  [() => parseParameters({ stop: [[1], 'a'] }), 'stop must be a string, or an array of at most 16'],
  [() => parseParameters({ stop: [1, 'a'] }), 'stop must be a string, or an array of at most 16'],
  [() => parseParameters({ stop: [[]] }), 'stop must be a string, or an array of at most 16'],
  [() => parseParameters({ stop: '' }), 'A stop sequence must not be empty (parameters.stop)'],
  [() => parseParameters({ logprobs: true, top_logprobs: 6 }), 'Range of top_logprobs should be [0, 5]'],
  [
    () => parseParameters({ top_logprobs: 1 }),
    'top_logprobs is only allowed when logprobs is true (parameters.top_logprobs: 1)',
  ],
  [
    () => parseParameters({ tools: [{ type: 'function', function: { name: 'search' } }] }),
    'Tool names are not allowed to be [search]',
  ],
  [() => parseParameters({ tools: [tool, tool] }), 'Tool names must be unique (parameters.tools[1].function.name)'],
  [
    () => parseParameters({ tools: [{ type: 'function', function: { name: 'f', description: ['secret'] } }] }),
    'parameters.tools[0].function.description must be a string, got an array of 1.',
  ],
  [() => parseParameters({ tools: [tool], n: 2 }), 'n must be 1 when tools are given (parameters.n: 2)'],
  [
    () => parseParameters({ tools: [tool], tool_choice: 'any' }),
    'tool_choice is one of the strings that should be ["none", "auto"',
  ],
  [() => parseParameters({ tool_choice: 'required' }), 'tool_choice needs tools (parameters.tool_choice)'],
  [
    () => parseParameters({ response_format: { type: 'xml' } }),
    'Unknown format of response_format, response_format should be a',
  ],
  [
    () => parseParameters({ response_format: { type: 'json_object' } }),
    "'messages' must contain the word 'json' in some form",
  ],
  [
    () => parseParameters({ thinking_budget: 0 }),
    'The thinking_budget parameter must be a positive integer and not greater than 4096 (parameters.thinking_budget',
  ],
  [
    () => parseParameters({ result_format: 'xml' }),
    'parameters.result_format must be one of "text", "message", got "xml".',
  ],
  [
    () => parseParameters({ result_format: 'text', enable_thinking: true }),
    'The result_format parameter must be "message" when enable_thinking is true (parameters.result_format: "text")',
  ],
  [
    () => parseParameters({ result_format: 'text', tools: [tool] }),
    'The result_format parameter must be "message" when tools are given',
  ],
  [
    () => parseParameters({ result_format: 'text', n: 2 }),
    'The result_format parameter must be "message" when n is greater than 1',
  ],
  [
    () => parseParameters({ incremental_output: false, enable_thinking: true }, { isStreamed: true }),
    'The incremental_output parameter must be "true" when enable_thinking is true (parameters.incremental_output',
  ],
  [() => parseParameters({ incremental_output: 1 }), 'parameters.incremental_output must be true or false'],
];

for (const [body, beginning] of REJECTED) {
  test(`rejects with "${beginning.slice(0, 90)}"`, () => {
    assert.throws(body, (error) => {
      assert.ok(error instanceof ServiceError);
      assert.equal(error.kind, 'invalid-request');
      assert.ok(error.message.startsWith(beginning), error.message);
      return true;
    });
  });
}

const getFormat = (parameters: object, mode?: ParseMode) => {
  const { type, isIncremental } = parseParameters(parameters, mode).format;
  return [type, isIncremental];
};

test('selects text, or message for answers that text cannot represent', () => {
  assert.deepEqual(getFormat({}), ['text', false]);
  assert.deepEqual(getFormat({ result_format: 'text', tools: [] }), ['text', false]);
  assert.deepEqual(getFormat({ result_format: 'message' }), ['message', false]);
  assert.deepEqual(getFormat({ tools: [tool] }), ['message', false]);
  assert.deepEqual(getFormat({ n: 2, incremental_output: true }), ['message', true]);
});

test('makes a stream with thinking incremental by default', () => {
  assert.deepEqual(getFormat({ enable_thinking: true }), ['message', true]);
  assert.deepEqual(getFormat({ enable_thinking: true, reasoning_effort: 'none' }), ['text', false]);
  // Clients send this by default, where it has no effect.
  assert.deepEqual(getFormat({ enable_thinking: true, incremental_output: false }), ['message', false]);
});

test('ignores thinking on a model without it, and allows options that exclude thinking', () => {
  const entry = nonThinkingEntry;
  const on = { enable_thinking: true };
  assert.deepEqual(getFormat(on, { entry }), ['text', false]);
  assert.deepEqual(getFormat({ ...on, result_format: 'text' }, { entry }), ['text', false]);
  assert.deepEqual(getFormat({ ...on, incremental_output: false }, { entry, isStreamed: true }), ['text', false]);
  assert.equal(parseParameters({ ...on, result_format: 'message' }, { entry }).format.hasReasoning, false);
  const forced = { tools: [tool], tool_choice: { type: 'function', function: { name: 'f' } } };
  assert.deepEqual(getFormat({ ...on, ...forced }, { entry }), ['message', false]);
  assert.throws(() => parseParameters({ ...on, ...forced }), { param: 'parameters.tool_choice' });
  const { wire, fields, format } = parseParameters(on, { entry });
  assert.deepEqual(listIgnoredGenerationFields(wire, fields, format, ['thinking']), ['parameters.enable_thinking']);
});

test('selects parts for every answer on the multimodal path', () => {
  for (const fields of [{}, { result_format: 'text', n: 2 }, { result_format: 'message' }]) {
    assert.deepEqual(getFormat(fields, { isMultimodal: true }), ['parts', false]);
  }
});

const decodeRequest = (body: object, mode?: ParseMode) =>
  decodeChatFields('svc-plus', parseFields(body, mode).fields, toNativePath);

test('appends the prompt as a user message after messages or history', () => {
  const decodeMessages = (input: object) =>
    decodeRequest({ input }).messages.map(({ role, content }) => [role, content[0]]);
  const text = (words: string) => ({ type: 'text', text: words });
  assert.deepEqual(decodeMessages({ prompt: 'Hi' }), [['user', text('Hi')]]);
  assert.deepEqual(
    decodeMessages({ prompt: 'Hi', history: [{ user: 'a', bot: 'b' }, { user: 'c' }, { user: null, bot: '' }] }),
    [
      ['user', text('a')],
      ['assistant', text('b')],
      ['user', text('c')],
      ['user', text('Hi')],
    ],
  );
  assert.deepEqual(decodeMessages({ prompt: '', messages: [user] }), [['user', text('Hi')]]);
  assert.deepEqual(decodeMessages({ prompt: 'Hi', messages: [{ role: 'system', content: 'Be' }] }), [
    ['system', text('Be')],
    ['user', text('Hi')],
  ]);
});

test('recognizes parts by their fields, with or without a type, on both paths', () => {
  const content = [
    { text: 'a', cache_control: { type: 'ephemeral' } },
    { type: 'text', text: 'b' },
    { image: 'https://x/a.png' },
    { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } },
  ];
  for (const isMultimodal of [true, false]) {
    const { messages } = decodeRequest(
      { input: { messages: [{ role: 'user', content }] } },
      { isMultimodal, entry: visionEntry },
    );
    assert.deepEqual(messages[0]?.content, [
      { type: 'text', text: 'a', cache: 'ephemeral' },
      { type: 'text', text: 'b' },
      { type: 'image', url: 'https://x/a.png' },
      { type: 'image', url: 'data:image/png;base64,AA==' },
    ]);
  }
});

test('ignores a content block that is null', () => {
  const content = [{ text: 'a', audio: null, video: null }];
  const { messages } = decodeRequest({ input: { messages: [{ role: 'user', content }] } });
  assert.deepEqual(messages[0]?.content, [{ type: 'text', text: 'a' }]);
});

test("parses every field of Parley's own answers that clients send back", () => {
  const messages = [
    user,
    { role: 'assistant', content: [], reasoning_content: 'hm', tool_calls: [{ ...call, index: 0 }] },
    { role: 'tool', content: 'x', tool_call_id: 'call_1' },
    { role: 'assistant', content: [{ text: 'so' }], reasoning_content: '' },
    user,
  ];
  const body = { model: 'svc-plus', input: { messages }, parameters: {} };
  assert.deepEqual(parseBody(GenerationBody, body, { strict: true }).unknown, []);
  assert.deepEqual(decodeRequest(body).messages[1], {
    role: 'assistant',
    content: [],
    reasoning: 'hm',
    toolCalls: [{ id: 'call_1', name: 'f', arguments: '{}' }],
  });
});

test('accepts stop as a string, strings, ids or lists of ids', () => {
  const stop = (value: unknown) => decodeRequest({ input: { prompt: 'x' }, parameters: { stop: value } }).stop;
  assert.deepEqual(stop('a'), { strings: ['a'], tokens: [] });
  assert.deepEqual(stop(['a', 'b']), { strings: ['a', 'b'], tokens: [] });
  assert.deepEqual(stop([1, 2]), { strings: [], tokens: [[1], [2]] });
  assert.deepEqual(stop([[1, 2], [3]]), { strings: [], tokens: [[1, 2], [3]] });
  assert.deepEqual(stop([]), { strings: [], tokens: [] });
});

test('decodes parameters as in the other interfaces, with native field paths', () => {
  const decoded = decodeRequest({
    input: { prompt: 'As JSON' },
    parameters: {
      temperature: 0,
      top_k: 101,
      seed: 7,
      max_tokens: 5,
      enable_thinking: true,
      thinking_budget: 9,
      tools: [tool],
      tool_stream: true,
      response_format: { type: 'json_schema', json_schema: { name: 's', schema: {} } },
    },
  });
  assert.deepEqual(decoded.sampling, { temperature: 0, topK: 0, seed: 7 });
  assert.deepEqual([decoded.maxTokens, decoded.thinking], [5, { budgetTokens: 9 }]);
  assert.equal(decoded.toolUse?.tools[0]?.field, 'parameters.tools[0].function.parameters');
  assert.partialDeepStrictEqual(decoded.outputFormat, { field: 'parameters.response_format.json_schema.schema' });
});

test('lists fields without effect by their path', () => {
  const listIgnored = (body: object, ignored: readonly string[] = [], mode?: ParseMode) => {
    const { wire, fields, format } = parseFields(body, mode);
    return listIgnoredGenerationFields(wire, fields, format, ignored);
  };
  assert.deepEqual(listIgnored({ input: { prompt: 'x' }, parameters: { enable_search: false } }), []);
  assert.deepEqual(listIgnored({ input: { prompt: 'x' }, parameters: { enable_search: true } }), []);
  assert.deepEqual(listIgnored({ input: { prompt: 'x' }, parameters: { enable_search: true } }, ['enable_search']), [
    'parameters.enable_search',
  ]);
  assert.deepEqual(listIgnored({ input: { prompt: 'x' } }, ['max_tokens(clamped)', 'cache_control']), [
    'parameters.max_tokens(clamped)',
    'input.messages.cache_control',
  ]);
  assert.deepEqual(listIgnored({ input: { messages: [user], history: [{ user: 'a' }] } }), ['input.history']);
  assert.deepEqual(listIgnored({ input: { prompt: 'x' }, parameters: { logprobs: true } }), ['parameters.logprobs']);
  const asText = { input: { prompt: 'x' }, parameters: { result_format: 'text' } };
  assert.deepEqual(listIgnored(asText, [], { isMultimodal: true }), ['parameters.result_format']);
});
