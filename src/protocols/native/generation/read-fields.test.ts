import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../../../core/error.ts';
import { decodeChat } from '../../fields/decode-chat.ts';
import { parseBody } from '../../parse.ts';
import { ENTRY } from './__fixtures__/golden-cases.ts';
import { ignoredFields } from './ignored-fields.ts';
import { place } from './place.ts';
import { readFields } from './read-fields.ts';
import type { Asked } from './read-fields.ts';
import { GenerationBody, generationTexts } from './schema.ts';
import type { GenerationWire } from './schema.ts';

const user = { role: 'user', content: 'Hi' };
const tool = { type: 'function', function: { name: 'f', description: 'x' } };
const call = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } };
const { thinking: _, ...withoutThinking } = ENTRY.abilities;
const thoughtless = { ...ENTRY, abilities: withoutThinking };
const seeing = { ...ENTRY, abilities: { ...ENTRY.abilities, vision: true } };

interface Way {
  readonly isMultimodal?: boolean;
  readonly isStreamed?: boolean;
  readonly entry?: typeof ENTRY;
}

function read(
  body: object,
  { isMultimodal = false, isStreamed = false, entry = ENTRY }: Way = {},
): Asked & { wire: GenerationWire } {
  const sent: unknown = JSON.parse(JSON.stringify({ model: 'svc-plus', ...body }));
  const { wire } = parseBody(GenerationBody, sent, { texts: generationTexts(entry) });
  return { wire, ...readFields(wire, entry, { isMultimodal, isStreamed }) };
}

const ask = (parameters: object, way?: Way) => read({ input: { messages: [user] }, parameters }, way);
const say = (...messages: readonly object[]) => read({ input: { messages } });

/** What is asked, and what the refusal begins with. */
const refused: readonly (readonly [() => unknown, string])[] = [
  [() => read({}), 'Either "prompt" or "messages" must exist and cannot both be none (input)'],
  [() => read({ input: {} }), 'Either "prompt" or "messages" must exist and cannot both be none'],
  [() => read({ input: { prompt: '' } }), 'Either "prompt" or "messages" must exist and cannot both be none (input)'],
  [() => read({ input: { prompt: '', history: [{ user: 'a' }] } }), 'Either "prompt" or "messages" must exist'],
  [() => read({ input: { history: [{ user: 'a', bot: 'b' }] } }), 'Either "prompt" or "messages" must exist'],
  [() => read({ input: 'Hi' }), 'input must be an object, got a string of 2 characters.'],
  [() => read({ input: { prompt: 7 } }), 'input.prompt must be a string, got 7.'],
  [() => read({ input: { prompt: 'x', history: [{ user: 1 }] } }), 'input.history[0].user must be a string'],
  [() => read({ input: { prompt: 'x' }, parameters: [] }), 'parameters must be an object'],
  [() => say(), "[] is too short - 'messages' (input.messages: an array of 0)"],
  [
    () => say({ role: 'bot', content: 'x' }),
    'Role must be user or assistant and Content length must be greater than 0 (input.messages[0].role: "bot")',
  ],
  [() => say({ content: 'x' }), 'Role must be user or assistant and Content length must be greater than 0'],
  [() => say({ role: 'user' }), 'The content field is a required field. (input.messages[0].content: missing)'],
  [() => say({ role: 'user', content: [] }), 'The content field is a required field. (input.messages[0].content)'],
  [() => say(user, { role: 'assistant' }), 'The content field is a required field.'],
  [() => say({ role: 'user', content: 7 }), 'input content must be a string. (input.messages[0].content: 7)'],
  [() => say({ role: 'user', content: ['x'] }), 'input content must be a string. (input.messages[0].content[0]'],
  [() => say({ role: 'user', content: [{ text: 1 }] }), 'input content must be a string.'],
  [() => say({ role: 'user', content: [{}] }), 'input content must be a string.'],
  [
    () => say({ role: 'user', content: [{ text: 'a' }, { image: 'https://x/a.png' }] }),
    'input content must be a string. The model svc-plus takes text only (input.messages[0].content[1])',
  ],
  ...[{}, { text: 'Hear:' }].flatMap((beside) =>
    (['audio', 'input_audio', 'video', 'video_url', 'doc_url', 'file'] as const).map(
      (block): readonly [() => unknown, string] => [
        () => say({ role: 'user', content: [{ ...beside, [block]: ['https://x/a'] }] }),
        `input content must be a string. The model svc-plus takes text only (input.messages[0].content[0].${block})`,
      ],
    ),
  ),
  [
    () => read({ input: { messages: [{ role: 'user', content: [{ video: ['https://x'] }] }] } }, { entry: seeing }),
    'input content must be a string. The model svc-plus takes text and images only (input.messages[0].content[0].video)',
  ],
  [
    () => say(user, { role: 'tool', content: 'x', tool_call_id: 'a' }),
    'messages with role "tool" must be a response to a preceding message with "tool_calls" (input.messages[1])',
  ],
  [
    () => read({ input: { messages: [user, { role: 'assistant', content: 'x', partial: true }], prompt: 'y' } }),
    'Only the last message may be partial (input.messages[1].partial)',
  ],
  [
    () => say({ role: 'user', content: [{ text: 'x', cache_control: { type: 'persistent' } }] }),
    'cache_control must be {"type": "ephemeral"}',
  ],
  [() => ask({ temperature: 3 }), 'Temperature should be in [0.0, 2.0) (parameters.temperature: 3)'],
  [() => ask({ temperature: 'hot' }), "'temperature' must be Float (parameters.temperature"],
  [() => ask({ top_p: 0 }), 'Range of top_p should be (0.0, 1.0]'],
  [() => ask({ top_k: -1 }), 'Parameter top_k be greater than or equal to 0'],
  [() => ask({ repetition_penalty: 0 }), 'Repetition_penalty should be greater than 0.0'],
  [() => ask({ presence_penalty: 3 }), 'Presence_penalty should be in [-2.0, 2.0]'],
  [() => ask({ max_tokens: 0 }), 'Range of max_tokens should be [1, 4096] (parameters.max_tokens: 0)'],
  [() => ask({ seed: -1 }), 'Range of seed should be [0, 2147483647]'],
  [() => ask({ n: 5 }), 'Range of n should be [1, 4] (parameters.n: 5)'],
  [() => ask({ stop: 5 }), 'stop must be a string, or an array of at most 16 strings, token ids or lists'],
  [() => ask({ stop: [[1], 'a'] }), 'stop must be a string, or an array of at most 16'],
  [() => ask({ stop: [1, 'a'] }), 'stop must be a string, or an array of at most 16'],
  [() => ask({ stop: [[]] }), 'stop must be a string, or an array of at most 16'],
  [() => ask({ stop: '' }), 'A stop sequence must not be empty (parameters.stop)'],
  [() => ask({ logprobs: true, top_logprobs: 6 }), 'Range of top_logprobs should be [0, 5]'],
  [() => ask({ top_logprobs: 1 }), 'top_logprobs is only allowed when logprobs is true (parameters.top_logprobs: 1)'],
  [
    () => ask({ tools: [{ type: 'function', function: { name: 'search' } }] }),
    'Tool names are not allowed to be [search]',
  ],
  [() => ask({ tools: [tool, tool] }), 'Tool names must be unique (parameters.tools[1].function.name)'],
  [
    () => ask({ tools: [{ type: 'function', function: { name: 'f', description: ['secret'] } }] }),
    'parameters.tools[0].function.description must be a string, got an array of 1.',
  ],
  [() => ask({ tools: [tool], n: 2 }), 'n must be 1 when tools are given (parameters.n: 2)'],
  [
    () => ask({ tools: [tool], tool_choice: 'any' }),
    'tool_choice is one of the strings that should be ["none", "auto"',
  ],
  [() => ask({ tool_choice: 'required' }), 'tool_choice needs tools (parameters.tool_choice)'],
  [() => ask({ response_format: { type: 'xml' } }), 'Unknown format of response_format, response_format should be a'],
  [() => ask({ response_format: { type: 'json_object' } }), "'messages' must contain the word 'json' in some form"],
  [
    () => ask({ thinking_budget: 5000 }),
    'The thinking_budget parameter must be a positive integer and not greater than 4096 (parameters.thinking_budget',
  ],
  [() => ask({ result_format: 'xml' }), 'parameters.result_format must be one of "text", "message", got "xml".'],
  [
    () => ask({ result_format: 'text', enable_thinking: true }),
    'The result_format parameter must be "message" when enable_thinking is true (parameters.result_format: "text")',
  ],
  [
    () => ask({ result_format: 'text', tools: [tool] }),
    'The result_format parameter must be "message" when tools are given',
  ],
  [
    () => ask({ result_format: 'text', n: 2 }),
    'The result_format parameter must be "message" when n is greater than 1',
  ],
  [
    () => ask({ incremental_output: false, enable_thinking: true }, { isStreamed: true }),
    'The incremental_output parameter must be "true" when enable_thinking is true (parameters.incremental_output',
  ],
  [() => ask({ incremental_output: 1 }), 'parameters.incremental_output must be true or false'],
];

for (const [body, beginning] of refused) {
  test(`refuses what is told "${beginning.slice(0, 90)}"`, () => {
    assert.throws(body, (error) => {
      assert.ok(error instanceof ServiceError);
      assert.equal(error.kind, 'invalid-request');
      assert.ok(error.message.startsWith(beginning), error.message);
      return true;
    });
  });
}

const formOf = (parameters: object, way?: Way) => {
  const { type, isIncremental } = ask(parameters, way).form;
  return [type, isIncremental];
};

test('an answer is a text, and a message where a text cannot hold it', () => {
  assert.deepEqual(formOf({}), ['text', false]);
  assert.deepEqual(formOf({ result_format: 'text', tools: [] }), ['text', false]);
  assert.deepEqual(formOf({ result_format: 'message' }), ['message', false]);
  assert.deepEqual(formOf({ tools: [tool] }), ['message', false]);
  assert.deepEqual(formOf({ n: 2, incremental_output: true }), ['message', true]);
});

test('a thought makes a stream incremental where nothing else is said', () => {
  assert.deepEqual(formOf({ enable_thinking: true }), ['message', true]);
  assert.deepEqual(formOf({ enable_thinking: true, reasoning_effort: 'none' }), ['text', false]);
  // A client sends this by itself, where it means nothing.
  assert.deepEqual(formOf({ enable_thinking: true, incremental_output: false }), ['message', false]);
});

test('on a model that cannot think, the wish to changes nothing and stands in the way of nothing', () => {
  const entry = thoughtless;
  const on = { enable_thinking: true };
  assert.deepEqual(formOf(on, { entry }), ['text', false]);
  assert.deepEqual(formOf({ ...on, result_format: 'text' }, { entry }), ['text', false]);
  assert.deepEqual(formOf({ ...on, incremental_output: false }, { entry, isStreamed: true }), ['text', false]);
  assert.equal(ask({ ...on, result_format: 'message' }, { entry }).form.hasThought, false);
  const forced = { tools: [tool], tool_choice: { type: 'function', function: { name: 'f' } } };
  assert.deepEqual(formOf({ ...on, ...forced }, { entry }), ['message', false]);
  assert.throws(() => ask({ ...on, ...forced }), { param: 'parameters.tool_choice' });
  const { wire, fields, form } = ask(on, { entry });
  assert.deepEqual(ignoredFields(wire, fields, form, ['thinking']), ['parameters.enable_thinking']);
});

test('on the multimodal path every answer is a message with parts', () => {
  for (const fields of [{}, { result_format: 'text', n: 2 }, { result_format: 'message' }]) {
    assert.deepEqual(formOf(fields, { isMultimodal: true }), ['parts', false]);
  }
});

const request = (body: object, way?: Way) => decodeChat('svc-plus', read(body, way).fields, place);

test('a prompt is the last thing a user said, behind messages or a history', () => {
  const told = (input: object) => request({ input }).messages.map(({ role, content }) => [role, content[0]]);
  const text = (words: string) => ({ type: 'text', text: words });
  assert.deepEqual(told({ prompt: 'Hi' }), [['user', text('Hi')]]);
  assert.deepEqual(told({ prompt: 'Hi', history: [{ user: 'a', bot: 'b' }, { user: 'c' }, { user: null, bot: '' }] }), [
    ['user', text('a')],
    ['assistant', text('b')],
    ['user', text('c')],
    ['user', text('Hi')],
  ]);
  assert.deepEqual(told({ prompt: '', messages: [user] }), [['user', text('Hi')]]);
  assert.deepEqual(told({ prompt: 'Hi', messages: [{ role: 'system', content: 'Be' }] }), [
    ['system', text('Be')],
    ['user', text('Hi')],
  ]);
});

test('parts are told by their fields, with their type or without, on both paths', () => {
  const content = [
    { text: 'a', cache_control: { type: 'ephemeral' } },
    { type: 'text', text: 'b' },
    { image: 'https://x/a.png' },
    { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } },
  ];
  for (const isMultimodal of [true, false]) {
    const { messages } = request({ input: { messages: [{ role: 'user', content }] } }, { isMultimodal, entry: seeing });
    assert.deepEqual(messages[0]?.content, [
      { type: 'text', text: 'a', cache: 'ephemeral' },
      { type: 'text', text: 'b' },
      { type: 'image', url: 'https://x/a.png' },
      { type: 'image', url: 'data:image/png;base64,AA==' },
    ]);
  }
});

test('a block that is null is not there', () => {
  const content = [{ text: 'a', audio: null, video: null }];
  const { messages } = request({ input: { messages: [{ role: 'user', content }] } });
  assert.deepEqual(messages[0]?.content, [{ type: 'text', text: 'a' }]);
});

test('answers of ours that are sent back are understood whole', () => {
  const messages = [
    user,
    { role: 'assistant', content: [], reasoning_content: 'hm', tool_calls: [{ ...call, index: 0 }] },
    { role: 'tool', content: 'x', tool_call_id: 'call_1' },
    { role: 'assistant', content: [{ text: 'so' }], reasoning_content: '' },
    user,
  ];
  const body = { model: 'svc-plus', input: { messages }, parameters: {} };
  assert.deepEqual(parseBody(GenerationBody, body, { strict: true }).unknown, []);
  assert.deepEqual(request(body).messages[1], {
    role: 'assistant',
    content: [],
    reasoning: 'hm',
    toolCalls: [{ id: 'call_1', name: 'f', arguments: '{}' }],
  });
});

test('a stop is a string, strings, ids or lists of ids', () => {
  const stop = (value: unknown) => request({ input: { prompt: 'x' }, parameters: { stop: value } }).stop;
  assert.deepEqual(stop('a'), { strings: ['a'], tokens: [] });
  assert.deepEqual(stop(['a', 'b']), { strings: ['a', 'b'], tokens: [] });
  assert.deepEqual(stop([1, 2]), { strings: [], tokens: [[1], [2]] });
  assert.deepEqual(stop([[1, 2], [3]]), { strings: [], tokens: [[1, 2], [3]] });
  assert.deepEqual(stop([]), { strings: [], tokens: [] });
});

test('parameters become what they are in the other interfaces, with their place in this one', () => {
  const asked = request({
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
  assert.deepEqual(asked.sampling, { temperature: 0, topK: 0, seed: 7 });
  assert.deepEqual([asked.maxTokens, asked.thinking], [5, { budgetTokens: 9 }]);
  assert.equal(asked.toolUse?.tools[0]?.field, 'parameters.tools[0].function.parameters');
  assert.partialDeepStrictEqual(asked.outputFormat, { field: 'parameters.response_format.json_schema.schema' });
});

test('what changed nothing is named where it stood', () => {
  const ignored = (body: object, unheard: readonly string[] = [], way?: Way) => {
    const { wire, fields, form } = read(body, way);
    return ignoredFields(wire, fields, form, unheard);
  };
  assert.deepEqual(ignored({ input: { prompt: 'x' }, parameters: { enable_search: false } }), []);
  assert.deepEqual(ignored({ input: { prompt: 'x' }, parameters: { enable_search: true } }), []);
  assert.deepEqual(ignored({ input: { prompt: 'x' }, parameters: { enable_search: true } }, ['enable_search']), [
    'parameters.enable_search',
  ]);
  assert.deepEqual(ignored({ input: { prompt: 'x' } }, ['max_tokens(clamped)', 'cache_control']), [
    'parameters.max_tokens(clamped)',
    'input.messages.cache_control',
  ]);
  assert.deepEqual(ignored({ input: { messages: [user], history: [{ user: 'a' }] } }), ['input.history']);
  assert.deepEqual(ignored({ input: { prompt: 'x' }, parameters: { logprobs: true } }), ['parameters.logprobs']);
  const asText = { input: { prompt: 'x' }, parameters: { result_format: 'text' } };
  assert.deepEqual(ignored(asText, [], { isMultimodal: true }), ['parameters.result_format']);
});
