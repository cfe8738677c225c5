import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ModelEntry } from '../../../catalogue/model.ts';
import { ServiceError } from '../../../core/error.ts';
import { encodeErrorBody, getStatus } from '../errors.ts';
import { parseBody } from '../../parse.ts';
import { decodeMessagesRequest } from './decode.ts';
import { listIgnoredMessagesFields } from './ignored-fields.ts';
import { checkMessagesRules } from './rules.ts';
import { MessagesBody, createMessagesTexts, type MessagesWire } from './schema.ts';

const entry: ModelEntry = {
  name: 'svc-plus',
  description: '',
  runner: { type: 'none', reason: 'a test' },
  contextTokens: 4096,
  abilities: { thinking: 'prompted', tools: true, vision: false, audio: false, logprobs: true, fillInTheMiddle: false },
  interfaces: ['messages'],
  sampling: {},
  created: 0,
};
const { thinking: _, ...withoutThinking } = entry.abilities;
const nonThinkingEntry: ModelEntry = { ...entry, abilities: withoutThinking };
const visionEntry: ModelEntry = { ...entry, abilities: { ...entry.abilities, vision: true } };
const { vision: __, ...withoutVision } = entry.abilities;
const unknownVisionEntry: ModelEntry = { ...entry, abilities: withoutVision };

const user = { role: 'user', content: 'Hi' };
const createText = (words: string, fields: object = {}) => ({ type: 'text', text: words, ...fields });
const createCall = (id: string) => ({ type: 'tool_use', id, name: 'f', input: {} });
const createResult = (id: string, fields: object = {}) => ({ type: 'tool_result', tool_use_id: id, ...fields });
const createImage = (source: object = { type: 'url', url: 'https://x' }) => ({ type: 'image', source });
const createTool = (name: string, fields: object = {}) => ({ name, input_schema: { type: 'object' }, ...fields });
const withUserContent = (...content: object[]) => ({ messages: [{ role: 'user', content }] });
const withAssistantContent = (...content: object[]) => ({ messages: [user, { role: 'assistant', content }, user] });
const withMessages = (...messages: object[]) => ({ messages });
const createUserTurn = (...content: object[]) => ({ role: 'user', content });
const createAssistantTurn = (...content: object[]) => ({ role: 'assistant', content });
const THINKING_ON = { thinking: { type: 'enabled', budget_tokens: 5 } };
const MARK = { cache_control: { type: 'ephemeral' } };

function parseAndCheck(
  fields: object,
  modelEntry = entry,
): { readonly wire: MessagesWire; readonly unknown: readonly string[] } {
  const body: unknown = JSON.parse(JSON.stringify({ model: 'svc-plus', max_tokens: 9, messages: [user], ...fields }));
  const parsed = parseBody(MessagesBody, body, { texts: createMessagesTexts(modelEntry) });
  checkMessagesRules(parsed.wire, modelEntry);
  return parsed;
}

/** Fields, the invalid field, and the start of the error message. */
const REJECTED: readonly (readonly [object, string, string])[] = [
  [{ model: '' }, 'model', 'Required parameter(model) missing or invalid'],
  [{ max_tokens: undefined }, 'max_tokens', 'max_tokens: Field required (max_tokens: missing)'],
  [{ max_tokens: 0 }, 'max_tokens', 'max_tokens must be an integer from 1 to 4096 (max_tokens: 0)'],
  [{ max_tokens: 1.5 }, 'max_tokens', 'max_tokens must be an integer'],
  [{ messages: undefined }, 'messages', 'messages must be a list of 1 to'],
  [{ messages: [] }, 'messages', 'messages must be a list of 1 to'],
  [
    withMessages({ role: 'bot', content: 'x' }),
    'messages[0].role',
    'role must be user, assistant or system (messages[0].role: "bot")',
  ],
  [withMessages({ role: 'tool', content: 'x' }), 'messages[0].role', 'role must be user, assistant or system'],
  [
    withMessages({ role: 'user' }),
    'messages[0].content',
    'content must be a string or a list of content blocks (messages[0].content: missing)',
  ],
  [withMessages({ role: 'user', content: 7 }), 'messages[0].content', 'content must be a string or a list'],
  [
    withMessages({ role: 'system', content: [] }),
    'messages',
    'messages must contain a user or assistant message (messages)',
  ],
  [withUserContent(), 'messages[0].content', 'a user message must have content (messages[0].content)'],
  [withUserContent({ type: 'compaction', content: 'x' }), 'messages[0].content', 'a user message must have content'],
  [withUserContent({ type: 'smell' }), 'messages[0].content[0].type', 'messages[0].content[0].type'],
  [
    withUserContent({ type: 'text' }),
    'messages[0].content[0].text',
    'Required parameter(messages[0].content[0].text) missing',
  ],
  [{ system: 7 }, 'system', 'system must be a string or an array, got 7.'],
  [{ system: [createImage()] }, 'system[0].type', 'system[0].type must be "text", got "image".'],
  [{ stream: 'yes' }, 'stream', 'stream must be true or false, got "yes".'],
  [{ temperature: 2 }, 'temperature', 'temperature must be in [0, 2) (temperature: 2)'],
  [{ temperature: -0.1 }, 'temperature', 'temperature must be in [0, 2)'],
  [{ top_p: 0 }, 'top_p', 'top_p must be in (0, 1] (top_p: 0)'],
  [{ top_k: -1 }, 'top_k', 'top_k must be 0 or greater (top_k: -1)'],
  [{ stop_sequences: 'x' }, 'stop_sequences', 'stop_sequences must be a list of at most 16 strings'],
  [
    { stop_sequences: Array.from({ length: 17 }, String) },
    'stop_sequences',
    'stop_sequences must be a list of at most 16',
  ],
  [{ stop_sequences: ['a', ''] }, 'stop_sequences[1]', 'a stop sequence must not be empty (stop_sequences[1]: "")'],
  [{ stop_sequences: ['x'.repeat(257)] }, 'stop_sequences[0]', 'a stop sequence must have at most 256 characters'],
  // Images, documents and other media.
  [
    withUserContent(createImage()),
    'messages[0].content[0].type',
    'the model svc-plus accepts text only (messages[0].content[0].type: "image")',
  ],
  [
    withUserContent(createText('a'), createImage({ type: 'base64', media_type: 'image/png', data: 'x' })),
    'messages[0].content[1].type',
    'the model svc-plus accepts text only',
  ],
  [
    withMessages(
      user,
      createAssistantTurn(createCall('a')),
      createUserTurn(createResult('a', { content: [createImage()] })),
    ),
    'messages[2].content[0].content[0].type',
    'the model svc-plus accepts text only',
  ],
  [
    withUserContent({ type: 'video', source: {} }),
    'messages[0].content[0].type',
    'the model svc-plus does not support video blocks (messages[0].content[0].type: "video")',
  ],
  [
    withUserContent({ type: 'audio', source: {} }),
    'messages[0].content[0].type',
    'the model svc-plus does not support audio blocks',
  ],
  [
    withUserContent({ type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'x' } }),
    'messages[0].content[0].source.type',
    'the source of a document must have the type text or content (messages[0].content[0].source.type: "base64")',
  ],
  [
    withMessages(
      user,
      createAssistantTurn(createCall('a')),
      createUserTurn(createResult('a', { content: [{ type: 'document', source: { type: 'url', url: 'x' } }] })),
    ),
    'messages[2].content[0].content[0].source.type',
    'the source of a document must have the type text',
  ],
  // Blocks in a message of the wrong role.
  [
    withUserContent(createCall('a')),
    'messages[0].content[0].type',
    'tool_use blocks are not allowed in a message with the role user',
  ],
  [
    withUserContent({ type: 'thinking', thinking: 'x' }),
    'messages[0].content[0].type',
    'thinking blocks are not allowed in',
  ],
  [
    withAssistantContent(createResult('a')),
    'messages[1].content[0].type',
    'tool_result blocks are not allowed in a message with the role assistant',
  ],
  [withAssistantContent(createImage()), 'messages[1].content[0].type', 'image blocks are not allowed in'],
  [
    withAssistantContent({ type: 'document', source: { type: 'content', content: 'x' } }),
    'messages[1].content[0].type',
    'document blocks are not allowed',
  ],
  [
    withAssistantContent({ type: 'search_result', title: 't', source: 's', content: [] }),
    'messages[1].content[0].type',
    'search_result blocks are not allowed',
  ],
  // Results without a call.
  [
    withUserContent(createResult('a')),
    'messages[0].content[0].tool_use_id',
    'a tool_result must refer to a tool_use block of the previous assistant message (messages[0].content[0].tool_use_id: ',
  ],
  [
    withMessages(user, createAssistantTurn(createCall('a')), createUserTurn(createResult('b'))),
    'messages[2].content[0].tool_use_id',
    'a tool_result must refer to a tool_use block',
  ],
  [
    withMessages(
      user,
      createAssistantTurn(createCall('a')),
      user,
      { role: 'assistant', content: 'x' },
      createUserTurn(createResult('a')),
    ),
    'messages[4].content[0].tool_use_id',
    'a tool_result must refer to a tool_use block',
  ],
  [
    withMessages(
      user,
      createAssistantTurn(createCall('a')),
      createUserTurn(createResult('a')),
      { role: 'system', content: 'x' },
      createAssistantTurn(createCall('b')),
      createUserTurn(createResult('a')),
    ),
    'messages[5].content[0].tool_use_id',
    'a tool_result must refer to',
  ],
  // Tools.
  [{ tools: [{ name: 'f' }] }, 'tools[0].input_schema', 'Required parameter(tools[0].input_schema) missing'],
  [
    { tools: [createTool('get weather')] },
    'tools[0].name',
    'tools[0].name must have 1 to 512 letters, digits, underscores or hyphens, got a string of 11 characters.',
  ],
  [{ tools: [createTool('')] }, 'tools[0].name', 'tools[0].name must have 1 to 512'],
  [
    { tools: [{ type: 'function', function: { name: 'f' } }] },
    'tools[0].type',
    'tools[0].type is not valid, got "function".',
  ],
  [{ tools: [createTool('f'), createTool('f')] }, 'tools[1].name', 'tool names must be unique (tools[1].name'],
  [{ tool_choice: { type: 'any' } }, 'tool_choice', 'tool_choice needs tools (tool_choice)'],
  [
    { tools: [{ type: 'bash_20250124', name: 'bash' }], tool_choice: { type: 'any' } },
    'tool_choice',
    'tool_choice needs tools',
  ],
  [
    { tools: [createTool('f')], tool_choice: { type: 'tool', name: 'g' } },
    'tool_choice.name',
    'tool_choice names a tool that is not among tools (tool_choice.name: "g")',
  ],
  [
    { tools: [createTool('f')], tool_choice: { type: 'tool' } },
    'tool_choice.name',
    'Required parameter(tool_choice.name) missing',
  ],
  [{ tools: [createTool('f')], tool_choice: 'auto' }, 'tool_choice', 'tool_choice must be an object, got "auto".'],
  [
    { ...THINKING_ON, tools: [createTool('f')], tool_choice: { type: 'any' } },
    'tool_choice',
    'tool_choice cannot force a tool while thinking is on',
  ],
  // Thinking.
  [
    { thinking: { type: 'enabled' } },
    'thinking.budget_tokens',
    'budget_tokens must be an integer of at least 1 (thinking.budget_tokens: missing)',
  ],
  [
    { thinking: { type: 'enabled', budget_tokens: 0 } },
    'thinking.budget_tokens',
    'budget_tokens must be an integer of at least 1',
  ],
  [{ thinking: { type: 'maybe' } }, 'thinking.type', 'thinking.type'],
  [{ output_config: { effort: 'huge' } }, 'output_config.effort', 'output_config.effort must be one of'],
  // Assistant turns that start the answer.
  [
    withMessages(user, createAssistantTurn(createCall('a'))),
    'messages[1]',
    'tool_use blocks must be followed by a user message with their tool_result blocks (messages[1])',
  ],
  [
    { ...THINKING_ON, ...withMessages(user, { role: 'assistant', content: 'x' }) },
    'messages[1]',
    'the last message must have the role user while thinking is on',
  ],
  [
    {
      ...withMessages(user, { role: 'assistant', content: 'x' }),
      output_config: { format: { type: 'json_schema', schema: {} } },
    },
    'messages[1]',
    'the last message must have the role user when an output format is set',
  ],
  [
    { ...withMessages(user, { role: 'assistant', content: 'x' }), output_format: { type: 'json_schema', schema: {} } },
    'messages[1]',
    'the last message must have the role user when an output format is set',
  ],
  [
    withMessages(user, createAssistantTurn(createCall('a')), createAssistantTurn(createText('x'))),
    'messages[1]',
    'tool_use blocks must be followed by a user message',
  ],
  [
    withMessages(
      user,
      createAssistantTurn(createCall('a')),
      { role: 'system', content: '' },
      createAssistantTurn(createText('x')),
      {
        role: 'system',
        content: [],
      },
    ),
    'messages[1]',
    'tool_use blocks must be followed by a user message',
  ],
  [
    {
      tools: [createTool('f'), { type: 'memory_20250818', name: 'memory' }],
      tool_choice: { type: 'tool', name: 'memory' },
    },
    'tool_choice',
    'tool_choice forces the tool memory, which this service does not run (tool_choice)',
  ],
  [
    { tools: [{ type: 'memory_20250818', name: 'memory' }], tool_choice: { type: 'tool', name: 'memory' } },
    'tool_choice',
    'tool_choice forces the tool memory, which this service does not run (tool_choice)',
  ],
  [
    { tools: [{ type: 'memory_20250818', name: 'memory' }], tool_choice: { type: 'any' } },
    'tool_choice',
    'tool_choice needs tools that this service runs; it runs none of these (tool_choice)',
  ],
  // Cache marks.
  [
    withUserContent(createText('a', { cache_control: { type: 'persistent' } })),
    'messages[0].content[0].cache_control.type',
    'messages[0].content[0].cache_control.type must be "ephemeral"',
  ],
  [
    withUserContent(...Array.from({ length: 5 }, () => createText('a', MARK))),
    'messages[0].content[4].cache_control',
    'cache_control is allowed on at most 4 blocks of a request',
  ],
  [
    {
      ...MARK,
      tools: [createTool('f', MARK)],
      system: [createText('s', MARK)],
      ...withUserContent(createText('a', MARK), createText('b', MARK)),
    },
    'messages[0].content[1].cache_control',
    'cache_control is allowed on at most 4',
  ],
  [
    withMessages(
      user,
      createAssistantTurn(createCall('a')),
      createUserTurn(createResult('a', { content: Array.from({ length: 5 }, () => createText('a', MARK)) })),
    ),
    'messages[2].content[0].content[4].cache_control',
    'cache_control is allowed on at most 4',
  ],
];

describe('checkMessagesRules', () => {
  for (const [fields, param, message] of REJECTED) {
    test(`rejects ${param} of ${JSON.stringify(fields).slice(0, 120)}`, () => {
      assert.throws(
        () => parseAndCheck(fields),
        (error) => {
          assert.ok(error instanceof ServiceError, String(error));
          assert.equal(error.kind, 'invalid-request');
          assert.equal(error.param, param, error.message);
          assert.ok(error.message.startsWith(message), error.message);
          assert.equal(getStatus(error.kind), 400);
          assert.deepEqual(encodeErrorBody(error, 'r'), {
            type: 'error',
            error: { type: 'invalid_request_error', message: error.message },
            request_id: 'r',
          });
          return true;
        },
      );
    });
  }
});

describe('accepted requests', () => {
  for (const [fields, modelEntry] of [
    [{ temperature: 0, top_p: 1, top_k: 0, stop_sequences: [], service_tier: 'whatever', metadata: { user_id: 'u' } }],
    [
      {
        stream: null,
        system: null,
        tools: null,
        tool_choice: null,
        thinking: null,
        metadata: null,
        output_config: null,
      },
    ],
    [{ stop_sequences: ['é'.repeat(256), '😀'.repeat(256)] }],
    [{ thinking: { type: 'enabled', budget_tokens: 30_000 } }],
    [{ ...THINKING_ON, tools: [createTool('f')], tool_choice: { type: 'any' } }, nonThinkingEntry],
    [{ ...THINKING_ON, ...withMessages(user, { role: 'assistant', content: 'x' }) }, nonThinkingEntry],
    [{ tool_choice: { type: 'auto' } }],
    [
      {
        tools: [
          { type: 'tool_search_tool_regex', name: 'x' },
          { type: 'mcp_toolset', mcp_server_name: 'x' },
        ],
      },
    ],
    [{ tools: [{ type: 'computer_20251124', name: 'computer', input_schema: null }] }],
    [withUserContent(createImage(), createImage({ type: 'base64', media_type: 'image/png', data: 'x' })), visionEntry],
    [withUserContent(createImage()), unknownVisionEntry],
    [
      withMessages(
        user,
        createAssistantTurn(createCall('a'), createCall('b')),
        createUserTurn(createResult('b')),
        createUserTurn(createText('x'), createResult('a')),
      ),
    ],
    [
      withMessages(
        user,
        createAssistantTurn(createCall('a')),
        createAssistantTurn(createCall('b')),
        createUserTurn(createResult('b'), createResult('a')),
      ),
    ],
    [
      withMessages(
        user,
        createAssistantTurn(createCall('a')),
        { role: 'system', content: 'x' },
        createUserTurn(createResult('a')),
      ),
    ],
    [withMessages(user, createAssistantTurn(), user)],
    [
      {
        ...MARK,
        ...withUserContent(
          createText('a', MARK),
          createText('b', MARK),
          createText('c', { cache_control: { type: 'ephemeral', ttl: '1h' } }),
        ),
      },
    ],
  ] as const) {
    test(`decodes ${JSON.stringify(fields).slice(0, 120)}`, () => {
      decodeMessagesRequest(parseAndCheck(fields, modelEntry).wire);
    });
  }
});

describe('listIgnoredMessagesFields', () => {
  const nothing: readonly string[] = [];
  const pastThinking = withAssistantContent({ type: 'thinking', thinking: 'x', signature: 's' }, createText('A'));
  for (const [name, fields, ignored, expected] of [
    ['nothing for a request without options', {}, nothing, nothing],
    [
      'nothing for options that have an effect',
      { ...THINKING_ON, tools: [createTool('f')], system: [createText('s', MARK)] },
      nothing,
      nothing,
    ],
    [
      'thinking of a model without it',
      { ...THINKING_ON, reasoning_effort: 'high', output_config: { effort: 'low' } },
      ['thinking', 'preserve_thinking'],
      ['thinking', 'output_config.effort', 'reasoning_effort'],
    ],
    [
      'an effort without thinking',
      { reasoning_effort: 'high', output_config: { effort: 'low' } },
      nothing,
      ['output_config.effort', 'reasoning_effort'],
    ],
    [
      'an effort beside disabled thinking',
      { thinking: { type: 'disabled' }, output_config: { effort: 'max' } },
      nothing,
      ['output_config.effort'],
    ],
    ['no effort that has an effect', { ...THINKING_ON, output_config: { effort: 'low' } }, nothing, nothing],
    ['no effort with the value none', { reasoning_effort: 'none' }, nothing, nothing],
    ['thinking between tools only', { thinking: { type: 'between_tools' } }, nothing, ['thinking']],
    [
      'a display option that hides thinking',
      { thinking: { type: 'adaptive', display: 'omitted' } },
      nothing,
      ['thinking.display'],
    ],
    ['earlier thinking while thinking is off', pastThinking, nothing, ['messages.content.thinking']],
    [
      'earlier thinking that the template drops',
      { ...THINKING_ON, ...pastThinking },
      ['preserve_thinking'],
      ['messages.content.thinking'],
    ],
    ['no earlier thinking that the prompt contains', { ...THINKING_ON, ...pastThinking }, nothing, nothing],
    [
      'a format that generation does not support',
      { output_config: { format: { type: 'json_schema', schema: {} } } },
      ['response_format'],
      ['output_config.format'],
    ],
    ['a cache mark without a cache', { ...MARK, tools: [createTool('f', MARK)] }, ['cache_control'], ['cache_control']],
    [
      'a cache mark on a block that cannot be cached',
      {
        tools: [createTool('f'), createTool('g', MARK)],
        ...withAssistantContent({ ...createCall('a'), ...MARK }, createText('b')),
      },
      nothing,
      ['tools[1].cache_control', 'messages[1].content[0].cache_control'],
    ],
    [
      'a longer cache lifetime',
      { system: [createText('s', { cache_control: { type: 'ephemeral', ttl: '1h' } })] },
      nothing,
      ['cache_control.ttl'],
    ],
    [
      'a server tool that Parley does not run',
      { tools: [createTool('f'), { type: 'memory_20250818', name: 'memory' }] },
      nothing,
      ['tools[1]'],
    ],
    [
      'blocks of such tools',
      withAssistantContent(
        { type: 'server_tool_use', id: 's', name: 'bash_code_execution', input: {} },
        { type: 'redacted_thinking', data: 'x' },
        createText('b'),
      ),
      nothing,
      ['messages[1].content[0]', 'messages[1].content[1]'],
    ],
    [
      'the state of a browser',
      withMessages(
        user,
        createAssistantTurn(createCall('a')),
        createUserTurn(createResult('a', { content: [createText('x'), { type: 'browser_state', tabs: [] }] })),
      ),
      nothing,
      ['messages[2].content[0].content[1]'],
    ],
    [
      'servers, containers and context management',
      { mcp_servers: [{ url: 'https://x' }], container: 'c', context_management: { edits: [] } },
      nothing,
      ['container', 'mcp_servers', 'context_management'],
    ],
    ['no empty list of servers', { mcp_servers: [], container: null, context_management: null }, nothing, nothing],
    ['a lowered limit', {}, ['max_tokens(clamped)', 'top_k'], ['max_tokens(clamped)', 'top_k']],
  ] as const) {
    test(`lists ${name}`, () => {
      assert.deepEqual(listIgnoredMessagesFields(parseAndCheck(fields).wire, ignored), expected);
    });
  }

  test('lists unknown fields', () => {
    const fields = {
      speed: 'fast',
      ...withUserContent(createText('a', { citations: null, colour: 'red' })),
      tools: [createTool('f', { defer_loading: true })],
    };
    assert.deepEqual(parseAndCheck(fields).unknown, ['messages[].content[].colour', 'speed', 'tools[].defer_loading']);
  });
});

for (const thread of [{ type: 'create' }, { type: 'continue', previous_message_id: 'msg_1' }]) {
  test(`rejects a thread to ${thread.type} with the error that clients know, before checking its messages`, () => {
    assert.throws(
      () => parseAndCheck({ thread, ...withUserContent(createResult('a')) }),
      (error) => {
        assert.ok(error instanceof ServiceError && getStatus(error.kind) === 400, String(error));
        assert.partialDeepStrictEqual(encodeErrorBody(error, 'r'), {
          error: {
            type: 'invalid_request_error',
            details: { error_code: 'thread_unsupported_request', unsupported: ['thread'] },
          },
        });
        return true;
      },
    );
  });
}

test('encodes a too long prompt with both token counts, as coding agents parse them', () => {
  const message = 'Range of input length should be [1, 99] (…)';
  const encodeError = (details: object) =>
    JSON.stringify(encodeErrorBody(new ServiceError('context-exceeded', message, details), 'r'));
  assert.match(
    encodeError({ tokenOverflow: { tokens: 120, tokensMax: 99 } }),
    /"prompt is too long: 120 tokens > 99 maximum\. Range of/,
  );
  assert.match(encodeError({}), /"prompt is too long: Range of/);
  assert.equal(getStatus('context-exceeded'), 400);
});
