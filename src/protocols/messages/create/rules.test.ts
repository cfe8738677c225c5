import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ModelEntry } from '../../../catalogue/model.ts';
import { ServiceError } from '../../../core/error.ts';
import { errorBody, status } from '../errors.ts';
import { parseBody } from '../../parse.ts';
import { decode } from './decode.ts';
import { ignoredFields } from './ignored-fields.ts';
import { checkMessagesRules } from './rules.ts';
import { MessagesBody, messagesTexts } from './schema.ts';
import type { MessagesWire } from './schema.ts';

const entry: ModelEntry = {
  name: 'svc-plus',
  description: '',
  runs: { type: 'none', reason: 'a test' },
  contextTokens: 4096,
  abilities: { thinking: 'prompted', tools: true, vision: false, audio: false, logprobs: true, fillInTheMiddle: false },
  interfaces: ['messages'],
  sampling: {},
  created: 0,
};
const { thinking: _, ...withoutThinking } = entry.abilities;
const thoughtless: ModelEntry = { ...entry, abilities: withoutThinking };
const seeing: ModelEntry = { ...entry, abilities: { ...entry.abilities, vision: true } };
const { vision: __, ...withoutVision } = entry.abilities;
const unknown: ModelEntry = { ...entry, abilities: withoutVision };

const user = { role: 'user', content: 'Hi' };
const text = (said: string, more: object = {}) => ({ type: 'text', text: said, ...more });
const call = (id: string) => ({ type: 'tool_use', id, name: 'f', input: {} });
const result = (id: string, more: object = {}) => ({ type: 'tool_result', tool_use_id: id, ...more });
const image = (source: object = { type: 'url', url: 'https://x' }) => ({ type: 'image', source });
const tool = (name: string, more: object = {}) => ({ name, input_schema: { type: 'object' }, ...more });
const says = (...content: object[]) => ({ messages: [{ role: 'user', content }] });
const answers = (...content: object[]) => ({ messages: [user, { role: 'assistant', content }, user] });
const turns = (...messages: object[]) => ({ messages });
const asked = (...content: object[]) => ({ role: 'user', content });
const answered = (...content: object[]) => ({ role: 'assistant', content });
const on = { thinking: { type: 'enabled', budget_tokens: 5 } };
const MARK = { cache_control: { type: 'ephemeral' } };

function read(fields: object, of = entry): { readonly wire: MessagesWire; readonly unknown: readonly string[] } {
  const body: unknown = JSON.parse(JSON.stringify({ model: 'svc-plus', max_tokens: 9, messages: [user], ...fields }));
  const parsed = parseBody(MessagesBody, body, { texts: messagesTexts(of) });
  checkMessagesRules(parsed.wire, of);
  return parsed;
}

/** Fields, the field at fault, and what the refusal begins with. */
const REFUSED: readonly (readonly [object, string, string])[] = [
  [{ model: '' }, 'model', 'Required parameter(model) missing or invalid'],
  [{ max_tokens: undefined }, 'max_tokens', 'max_tokens: Field required (max_tokens: missing)'],
  [{ max_tokens: 0 }, 'max_tokens', 'max_tokens must be a whole number from 1 to 4096 (max_tokens: 0)'],
  [{ max_tokens: 1.5 }, 'max_tokens', 'max_tokens must be a whole number'],
  [{ messages: undefined }, 'messages', 'messages must be a list of 1 to'],
  [{ messages: [] }, 'messages', 'messages must be a list of 1 to'],
  [
    turns({ role: 'bot', content: 'x' }),
    'messages[0].role',
    'role must be user, assistant or system (messages[0].role: "bot")',
  ],
  [turns({ role: 'tool', content: 'x' }), 'messages[0].role', 'role must be user, assistant or system'],
  [
    turns({ role: 'user' }),
    'messages[0].content',
    'content must be a string or a list of content blocks (messages[0].content: missing)',
  ],
  [turns({ role: 'user', content: 7 }), 'messages[0].content', 'content must be a string or a list'],
  [
    turns({ role: 'system', content: [] }),
    'messages',
    'messages must have one of the user or the assistant (messages)',
  ],
  [says(), 'messages[0].content', 'a user message must have content (messages[0].content)'],
  [says({ type: 'compaction', content: 'x' }), 'messages[0].content', 'a user message must have content'],
  [says({ type: 'smell' }), 'messages[0].content[0].type', 'messages[0].content[0].type'],
  [says({ type: 'text' }), 'messages[0].content[0].text', 'Required parameter(messages[0].content[0].text) missing'],
  [{ system: 7 }, 'system', 'system has none of the allowed forms, got 7.'],
  [{ system: [image()] }, 'system[0].type', 'system[0].type must be "text", got "image".'],
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
  // Images and the like.
  [
    says(image()),
    'messages[0].content[0].type',
    'the model svc-plus takes text only (messages[0].content[0].type: "image")',
  ],
  [
    says(text('a'), image({ type: 'base64', media_type: 'image/png', data: 'x' })),
    'messages[0].content[1].type',
    'the model svc-plus takes text only',
  ],
  [
    turns(user, answered(call('a')), asked(result('a', { content: [image()] }))),
    'messages[2].content[0].content[0].type',
    'the model svc-plus takes text only',
  ],
  [
    says({ type: 'video', source: {} }),
    'messages[0].content[0].type',
    'the model svc-plus does not take video blocks (messages[0].content[0].type: "video")',
  ],
  [says({ type: 'audio', source: {} }), 'messages[0].content[0].type', 'the model svc-plus does not take audio blocks'],
  [
    says({ type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'x' } }),
    'messages[0].content[0].source.type',
    'a document must be given as text or content (messages[0].content[0].source.type: "base64")',
  ],
  [
    turns(
      user,
      answered(call('a')),
      asked(result('a', { content: [{ type: 'document', source: { type: 'url', url: 'x' } }] })),
    ),
    'messages[2].content[0].content[0].source.type',
    'a document must be given as text',
  ],
  // Blocks in another's mouth.
  [says(call('a')), 'messages[0].content[0].type', 'tool_use blocks cannot stand in a message of role user'],
  [says({ type: 'thinking', thinking: 'x' }), 'messages[0].content[0].type', 'thinking blocks cannot stand in'],
  [
    answers(result('a')),
    'messages[1].content[0].type',
    'tool_result blocks cannot stand in a message of role assistant',
  ],
  [answers(image()), 'messages[1].content[0].type', 'image blocks cannot stand in'],
  [
    answers({ type: 'document', source: { type: 'content', content: 'x' } }),
    'messages[1].content[0].type',
    'document blocks cannot',
  ],
  [
    answers({ type: 'search_result', title: 't', source: 's', content: [] }),
    'messages[1].content[0].type',
    'search_result blocks cannot',
  ],
  // Results of calls that nobody made.
  [
    says(result('a')),
    'messages[0].content[0].tool_use_id',
    'a tool_result must answer a tool_use block of the message before (messages[0].content[0].tool_use_id: ',
  ],
  [
    turns(user, answered(call('a')), asked(result('b'))),
    'messages[2].content[0].tool_use_id',
    'a tool_result must answer a tool_use block',
  ],
  [
    turns(user, answered(call('a')), user, { role: 'assistant', content: 'x' }, asked(result('a'))),
    'messages[4].content[0].tool_use_id',
    'a tool_result must answer a tool_use block',
  ],
  [
    turns(
      user,
      answered(call('a')),
      asked(result('a')),
      { role: 'system', content: 'x' },
      answered(call('b')),
      asked(result('a')),
    ),
    'messages[5].content[0].tool_use_id',
    'a tool_result must answer',
  ],
  // Tools.
  [{ tools: [{ name: 'f' }] }, 'tools[0].input_schema', 'Required parameter(tools[0].input_schema) missing'],
  [
    { tools: [tool('get weather')] },
    'tools[0].name',
    'tools[0].name must have 1 to 512 letters, digits, underscores or hyphens, got a string of 11 characters.',
  ],
  [{ tools: [tool('')] }, 'tools[0].name', 'tools[0].name must have 1 to 512'],
  [
    { tools: [{ type: 'function', function: { name: 'f' } }] },
    'tools[0].type',
    'tools[0].type is not valid, got "function".',
  ],
  [{ tools: [tool('f'), tool('f')] }, 'tools[1].name', 'tool names must be unique (tools[1].name'],
  [{ tool_choice: { type: 'any' } }, 'tool_choice', 'tool_choice needs tools (tool_choice)'],
  [
    { tools: [{ type: 'bash_20250124', name: 'bash' }], tool_choice: { type: 'any' } },
    'tool_choice',
    'tool_choice needs tools',
  ],
  [
    { tools: [tool('f')], tool_choice: { type: 'tool', name: 'g' } },
    'tool_choice.name',
    'tool_choice names a tool that is not among tools (tool_choice.name: "g")',
  ],
  [
    { tools: [tool('f')], tool_choice: { type: 'tool' } },
    'tool_choice.name',
    'Required parameter(tool_choice.name) missing',
  ],
  [{ tools: [tool('f')], tool_choice: 'auto' }, 'tool_choice', 'tool_choice must be an object, got "auto".'],
  [
    { ...on, tools: [tool('f')], tool_choice: { type: 'any' } },
    'tool_choice',
    'tool_choice cannot force a tool while thinking is on',
  ],
  // Thinking.
  [
    { thinking: { type: 'enabled' } },
    'thinking.budget_tokens',
    'budget_tokens must be a whole number of at least 1 (thinking.budget_tokens: missing)',
  ],
  [
    { thinking: { type: 'enabled', budget_tokens: 0 } },
    'thinking.budget_tokens',
    'budget_tokens must be a whole number of at least 1',
  ],
  [{ thinking: { type: 'maybe' } }, 'thinking.type', 'thinking.type'],
  [{ output_config: { effort: 'huge' } }, 'output_config.effort', 'output_config.effort must be one of'],
  // Prefill.
  [
    turns(user, answered(call('a'))),
    'messages[1]',
    'tool_use blocks must be followed by a user message with their tool_result blocks (messages[1])',
  ],
  [
    { ...on, ...turns(user, { role: 'assistant', content: 'x' }) },
    'messages[1]',
    'the last message must be the user’s while thinking is on',
  ],
  [
    {
      ...turns(user, { role: 'assistant', content: 'x' }),
      output_config: { format: { type: 'json_schema', schema: {} } },
    },
    'messages[1]',
    'the last message must be the user’s when a format is asked for',
  ],
  [
    { ...turns(user, { role: 'assistant', content: 'x' }), output_format: { type: 'json_schema', schema: {} } },
    'messages[1]',
    'the last message must be the user’s when a format is asked for',
  ],
  [
    turns(user, answered(call('a')), answered(text('x'))),
    'messages[1]',
    'tool_use blocks must be followed by a user message',
  ],
  [
    turns(user, answered(call('a')), { role: 'system', content: '' }, answered(text('x')), {
      role: 'system',
      content: [],
    }),
    'messages[1]',
    'tool_use blocks must be followed by a user message',
  ],
  [
    {
      tools: [tool('f'), { type: 'memory_20250818', name: 'memory' }],
      tool_choice: { type: 'tool', name: 'memory' },
    },
    'tool_choice',
    'tool_choice forces the tool memory, which does not run here (tool_choice)',
  ],
  [
    { tools: [{ type: 'memory_20250818', name: 'memory' }], tool_choice: { type: 'tool', name: 'memory' } },
    'tool_choice',
    'tool_choice forces the tool memory, which does not run here (tool_choice)',
  ],
  [
    { tools: [{ type: 'memory_20250818', name: 'memory' }], tool_choice: { type: 'any' } },
    'tool_choice',
    'tool_choice needs tools that run here: none of these does (tool_choice)',
  ],
  // Cache marks.
  [
    says(text('a', { cache_control: { type: 'persistent' } })),
    'messages[0].content[0].cache_control.type',
    'messages[0].content[0].cache_control.type must be "ephemeral"',
  ],
  [
    says(...Array.from({ length: 5 }, () => text('a', MARK))),
    'messages[0].content[4].cache_control',
    'cache_control must stand on at most 4 blocks of a request',
  ],
  [
    { ...MARK, tools: [tool('f', MARK)], system: [text('s', MARK)], ...says(text('a', MARK), text('b', MARK)) },
    'messages[0].content[1].cache_control',
    'cache_control must stand on at most 4',
  ],
  [
    turns(user, answered(call('a')), asked(result('a', { content: Array.from({ length: 5 }, () => text('a', MARK)) }))),
    'messages[2].content[0].content[4].cache_control',
    'cache_control must stand on at most 4',
  ],
];

describe('refused is', () => {
  for (const [fields, param, message] of REFUSED) {
    test(`${JSON.stringify(fields).slice(0, 120)} as a fault of ${param}`, () => {
      assert.throws(
        () => read(fields),
        (error) => {
          assert.ok(error instanceof ServiceError, String(error));
          assert.equal(error.kind, 'invalid-request');
          assert.equal(error.param, param, error.message);
          assert.ok(error.message.startsWith(message), error.message);
          assert.equal(status(error.kind), 400);
          assert.deepEqual(errorBody(error, 'r'), {
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

describe('taken is', () => {
  for (const [fields, of] of [
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
    [{ ...on, tools: [tool('f')], tool_choice: { type: 'any' } }, thoughtless],
    [{ ...on, ...turns(user, { role: 'assistant', content: 'x' }) }, thoughtless],
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
    [says(image(), image({ type: 'base64', media_type: 'image/png', data: 'x' })), seeing],
    [says(image()), unknown],
    [turns(user, answered(call('a'), call('b')), asked(result('b')), asked(text('x'), result('a')))],
    [turns(user, answered(call('a')), answered(call('b')), asked(result('b'), result('a')))],
    [turns(user, answered(call('a')), { role: 'system', content: 'x' }, asked(result('a')))],
    [turns(user, answered(), user)],
    [
      {
        ...MARK,
        ...says(text('a', MARK), text('b', MARK), text('c', { cache_control: { type: 'ephemeral', ttl: '1h' } })),
      },
    ],
  ] as const) {
    test(JSON.stringify(fields).slice(0, 120), () => {
      decode(read(fields, of).wire);
    });
  }
});

describe('told as not honoured is', () => {
  const nothing: readonly string[] = [];
  const thought = answers({ type: 'thinking', thinking: 'x', signature: 's' }, text('A'));
  for (const [name, fields, unheard, told] of [
    ['nothing without a wish', {}, nothing, nothing],
    ['nothing that is', { ...on, tools: [tool('f')], system: [text('s', MARK)] }, nothing, nothing],
    [
      'thinking of a model that cannot',
      { ...on, reasoning_effort: 'high', output_config: { effort: 'low' } },
      ['thinking', 'preserve_thinking'],
      ['thinking', 'output_config.effort', 'reasoning_effort'],
    ],
    [
      'an effort that switches nothing on',
      { reasoning_effort: 'high', output_config: { effort: 'low' } },
      nothing,
      ['output_config.effort', 'reasoning_effort'],
    ],
    [
      'an effort beside thinking that is off',
      { thinking: { type: 'disabled' }, output_config: { effort: 'max' } },
      nothing,
      ['output_config.effort'],
    ],
    ['no effort that changes something', { ...on, output_config: { effort: 'low' } }, nothing, nothing],
    ['no effort of none', { reasoning_effort: 'none' }, nothing, nothing],
    ['thinking between tools only', { thinking: { type: 'between_tools' } }, nothing, ['thinking']],
    [
      'a thought that shall not be told',
      { thinking: { type: 'adaptive', display: 'omitted' } },
      nothing,
      ['thinking.display'],
    ],
    ['an earlier thought where none is wanted', thought, nothing, ['messages.content.thinking']],
    [
      'an earlier thought that the template drops',
      { ...on, ...thought },
      ['preserve_thinking'],
      ['messages.content.thinking'],
    ],
    ['no earlier thought that comes back', { ...on, ...thought }, nothing, nothing],
    [
      'a format that no grammar holds',
      { output_config: { format: { type: 'json_schema', schema: {} } } },
      ['response_format'],
      ['output_config.format'],
    ],
    ['a cache that there is none of', { ...MARK, tools: [tool('f', MARK)] }, ['cache_control'], ['cache_control']],
    [
      'a mark where none can be put',
      { tools: [tool('f'), tool('g', MARK)], ...answers({ ...call('a'), ...MARK }, text('b')) },
      nothing,
      ['tools[1].cache_control', 'messages[1].content[0].cache_control'],
    ],
    [
      'another time in the cache',
      { system: [text('s', { cache_control: { type: 'ephemeral', ttl: '1h' } })] },
      nothing,
      ['cache_control.ttl'],
    ],
    [
      'a tool of the platform’s',
      { tools: [tool('f'), { type: 'memory_20250818', name: 'memory' }] },
      nothing,
      ['tools[1]'],
    ],
    [
      'what such tools said',
      answers(
        { type: 'server_tool_use', id: 's', name: 'bash_code_execution', input: {} },
        { type: 'redacted_thinking', data: 'x' },
        text('b'),
      ),
      nothing,
      ['messages[1].content[0]', 'messages[1].content[1]'],
    ],
    [
      'what a browser was in',
      turns(
        user,
        answered(call('a')),
        asked(result('a', { content: [text('x'), { type: 'browser_state', tabs: [] }] })),
      ),
      nothing,
      ['messages[2].content[0].content[1]'],
    ],
    [
      'servers, containers and what edits the context',
      { mcp_servers: [{ url: 'https://x' }], container: 'c', context_management: { edits: [] } },
      nothing,
      ['container', 'mcp_servers', 'context_management'],
    ],
    ['no empty list of servers', { mcp_servers: [], container: null, context_management: null }, nothing, nothing],
    ['a limit that was lowered', {}, ['max_tokens(clamped)', 'top_k'], ['max_tokens(clamped)', 'top_k']],
  ] as const) {
    test(name, () => {
      assert.deepEqual(ignoredFields(read(fields).wire, unheard), told);
    });
  }

  test('a field that is none', () => {
    const fields = {
      speed: 'fast',
      ...says(text('a', { citations: null, colour: 'red' })),
      tools: [tool('f', { defer_loading: true })],
    };
    assert.deepEqual(read(fields).unknown, ['messages[].content[].colour', 'speed', 'tools[].defer_loading']);
  });
});

for (const thread of [{ type: 'create' }, { type: 'continue', previous_message_id: 'msg_1' }]) {
  test(`a thread to ${thread.type} is refused in words that clients know, before its messages are looked at`, () => {
    assert.throws(
      () => read({ thread, ...says(result('a')) }),
      (error) => {
        assert.ok(error instanceof ServiceError && status(error.kind) === 400, String(error));
        assert.partialDeepStrictEqual(errorBody(error, 'r'), {
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

test('a prompt that is too long is told with both counts, as a coding agent reads them', () => {
  const message = 'Range of input length should be [1, 99] (…)';
  const told = (facts: object) => JSON.stringify(errorBody(new ServiceError('context-exceeded', message, facts), 'r'));
  assert.match(
    told({ excess: { tokens: 120, tokensMax: 99 } }),
    /"prompt is too long: 120 tokens > 99 maximum\. Range of/,
  );
  assert.match(told({}), /"prompt is too long: Range of/);
  assert.equal(status('context-exceeded'), 400);
});
