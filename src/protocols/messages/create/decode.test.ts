import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Message } from '../../../core/message.ts';
import type { GenerationRequest } from '../../../core/request.ts';
import { parseBody } from '../../parse.ts';
import { decodeMessagesRequest, decodePrompt } from './decode.ts';
import { MessagesBody } from './schema.ts';

const user = { role: 'user', content: 'Hi' };
const createText = (words: string, fields: object = {}) => ({ type: 'text', text: words, ...fields });
const createMessage = (role: Message['role'], words: string, fields: object = {}) => ({
  role,
  content: [createText(words)],
  ...fields,
});
const parts = Array.from({ length: 6 }, () => ({ type: 'text' as const, text: 'a' }));
const MARK = { cache_control: { type: 'ephemeral' } };

function decodeBody(fields: object): GenerationRequest {
  const body: unknown = JSON.parse(JSON.stringify({ model: 'm', max_tokens: 9, messages: [user], ...fields }));
  return decodeMessagesRequest(parseBody(MessagesBody, body).wire);
}

const decodeMessages = (fields: object): readonly Message[] => decodeBody(fields).messages;

test('decodes parameters', () => {
  assert.deepEqual(decodeBody({ temperature: 0.5, top_p: 0.9, top_k: 3, stop_sequences: ['a', 'b'], system: null }), {
    model: 'm',
    messages: [createMessage('user', 'Hi')],
    sampling: { temperature: 0.5, topP: 0.9, topK: 3 },
    stop: { strings: ['a', 'b'], tokens: [] },
    maxTokens: 9,
    choices: 1,
  });
});

describe('system prompt', () => {
  for (const [name, system, expected] of [
    ['a string', 'Be brief.', [createMessage('system', 'Be brief.')]],
    [
      'blocks',
      [createText('Be brief. '), createText('Be kind.')],
      [{ role: 'system', content: [createText('Be brief. '), createText('Be kind.')] }],
    ],
    ['an empty string', '', []],
    ['no blocks', [], []],
    ['blocks without words', [createText(''), createText('')], []],
    ['null', null, []],
  ] as const) {
    test(`accepts ${name}`, () => {
      assert.deepEqual(decodeMessages({ system }), [...expected, createMessage('user', 'Hi')]);
    });
  }

  test('accepts a system turn at its position', () => {
    assert.deepEqual(
      decodeMessages({ system: 'A', messages: [user, { role: 'system', content: 'B' }] }).map(({ role }) => role),
      ['system', 'user', 'system'],
    );
  });
});

describe('turns', () => {
  test('joins consecutive turns of one role, separated by a blank line', () => {
    const messages = [
      user,
      { role: 'user', content: [createText('there')] },
      { role: 'assistant', content: 'A' },
      user,
    ];
    assert.deepEqual(decodeMessages({ messages }), [
      { role: 'user', content: [createText('Hi'), createText('\n\n'), createText('there')] },
      createMessage('assistant', 'A'),
      createMessage('user', 'Hi'),
    ]);
  });

  test('keeps thinking, texts and calls of joined turns', () => {
    const call = (id: string) => ({ type: 'tool_use', id, name: 'f', input: {} });
    const messages = [
      user,
      { role: 'assistant', content: [{ type: 'thinking', thinking: 'Hm.', signature: 's' }, call('a')] },
      { role: 'assistant', content: [{ type: 'thinking', thinking: 'Ah.', signature: 's' }, call('b')] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a' }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'b' }] },
    ];
    const [, both, ...results] = decodeMessages({ messages });
    assert.equal(both?.reasoning, 'Hm.\nAh.');
    assert.deepEqual(
      both?.toolCalls?.map(({ id }) => id),
      ['a', 'b'],
    );
    assert.deepEqual(
      results.map(({ role, toolCallId }) => [role, toolCallId]),
      [
        ['tool', 'a'],
        ['tool', 'b'],
      ],
    );
  });

  test('joins turns in linear time', () => {
    const wire = {
      model: 'm',
      messages: Array.from({ length: 10_000 }, () => ({ role: 'user' as const, content: parts })),
    };
    const before = process.threadCpuUsage();
    const [message] = decodePrompt(wire).messages;
    const { user: computed, system: moved } = process.threadCpuUsage(before);
    // Quadratic time would be 5 s and more, most of it for moving memory.
    assert.ok(computed + moved < 2_000_000, `${computed + moved} µs`);
    assert.equal(message?.content.length, 10_000 * parts.length + 9_999);
  });

  test('marks assistant turns at the end as the start of the answer', () => {
    const prefill = { role: 'assistant', content: 'The capital is' };
    assert.deepEqual(decodeMessages({ messages: [user, prefill] }), [
      createMessage('user', 'Hi'),
      createMessage('assistant', 'The capital is', { partial: true }),
    ]);
    const twice = decodeMessages({ messages: [user, prefill, { role: 'assistant', content: 'Paris' }] });
    assert.deepEqual(twice[1], {
      role: 'assistant',
      content: [createText('The capital is'), createText('\n\n'), createText('Paris')],
      partial: true,
    });
    assert.equal(decodeMessages({ messages: [user, prefill, user] })[1]?.partial, undefined);
  });

  test('ignores an empty system turn after the start of the answer', () => {
    for (const content of ['', [], [createText('')]]) {
      const messages = [user, { role: 'assistant', content: 'A' }, { role: 'system', content }];
      assert.deepEqual(decodeMessages({ messages }), [
        createMessage('user', 'Hi'),
        createMessage('assistant', 'A', { partial: true }),
      ]);
    }
  });

  test('replaces halves of surrogate pairs', () => {
    assert.deepEqual(decodeMessages({ messages: [{ role: 'user', content: 'a\ud800' }] }), [
      createMessage('user', 'a\ufffd'),
    ]);
  });
});

describe('tool calls and results', () => {
  const call = { type: 'tool_use', id: 'toolu_1', name: 'f', input: { city: 'Paris' } };
  const createResult = (fields: object) => ({ type: 'tool_result', tool_use_id: 'toolu_1', ...fields });
  const decodeAfterCall = (...blocks: object[]) =>
    decodeMessages({
      messages: [user, { role: 'assistant', content: [call] }, { role: 'user', content: blocks }],
    }).slice(2);

  test('decodes the input of a call as JSON text', () => {
    const [, assistant] = decodeMessages({
      messages: [user, { role: 'assistant', content: [createText('So: '), call] }, user],
    });
    assert.deepEqual(assistant, {
      role: 'assistant',
      content: [createText('So: ')],
      toolCalls: [{ id: 'toolu_1', name: 'f', arguments: '{"city":"Paris"}' }],
    });
  });

  test('replaces halves of surrogate pairs in names', () => {
    const messages = [user, { role: 'assistant', content: [{ ...call, name: 'f\ud800' }] }, user];
    assert.equal(decodeMessages({ messages })[1]?.toolCalls?.[0]?.name, 'f\ufffd');
  });

  for (const [name, fields, content] of [
    ['a string', { content: 'Sunny' }, [createText('Sunny')]],
    ['blocks', { content: [createText('Sun'), createText('ny')] }, [createText('Sun'), createText('ny')]],
    ['nothing', {}, []],
    ['null', { content: null, is_error: null }, []],
    ['an error', { content: 'Down', is_error: true }, [createText('Error: '), createText('Down')]],
    ['an error without a word', { is_error: true }, [createText('Error: ')]],
    [
      'a document',
      { content: [{ type: 'document', title: 'T', source: { type: 'text', media_type: 'text/plain', data: 'D' } }] },
      [createText('T\n\nD')],
    ],
    ['tools that were found', { content: [{ type: 'tool_reference', tool_name: 'f' }] }, [createText('f\n')]],
  ] as const) {
    test(`decodes a result with ${name}`, () => {
      assert.deepEqual(decodeAfterCall(createResult(fields)), [{ role: 'tool', toolCallId: 'toolu_1', content }]);
    });
  }

  test('keeps the order of texts and results', () => {
    const [textBefore, resultMessage, textAfter] = decodeAfterCall(
      createText('Look:'),
      createResult({ content: 'Sunny' }),
      createText('And?'),
    );
    assert.deepEqual(textBefore, createMessage('user', 'Look:'));
    assert.deepEqual(resultMessage, { role: 'tool', toolCallId: 'toolu_1', content: [createText('Sunny')] });
    assert.deepEqual(textAfter, createMessage('user', 'And?'));
  });
});

describe('blocks', () => {
  const decodeContent = (...content: object[]) => decodeMessages({ messages: [{ role: 'user', content }] })[0]?.content;
  const createDocument = (source: object, fields: object = {}) => ({ type: 'document', source, ...fields });
  const createTextSource = (data: string) => ({ type: 'text', media_type: 'text/plain', data });

  test('decodes text blocks without separators', () => {
    assert.deepEqual(decodeContent(createText('a'), createText('b')), [createText('a'), createText('b')]);
  });

  test('separates a document, which starts with its title and context', () => {
    assert.deepEqual(
      decodeContent(
        createText('See'),
        createDocument(createTextSource('D'), { title: 'T', context: 'C' }),
        createText('Why?'),
      ),
      [createText('See'), createText('\n\n'), createText('T\nC\n\nD'), createText('\n\n'), createText('Why?')],
    );
    assert.deepEqual(decodeContent(createDocument({ type: 'content', content: 'D' })), [createText('D')]);
    assert.deepEqual(decodeContent(createDocument({ type: 'content', content: [createText('D'), createText('E')] })), [
      createText('DE'),
    ]);
  });

  test('decodes a search result as a document', () => {
    const searchResult = { type: 'search_result', title: 'T', source: 'https://x', content: [createText('D')] };
    assert.deepEqual(decodeContent(searchResult, searchResult), [
      createText('T\nhttps://x\n\nD'),
      createText('\n\n'),
      createText('T\nhttps://x\n\nD'),
    ]);
  });

  test('decodes images as URLs', () => {
    assert.deepEqual(
      decodeContent(
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } },
        { type: 'image', source: { type: 'url', url: 'https://x/y.png' } },
      ),
      [
        { type: 'image', url: 'data:image/png;base64,aGk=' },
        { type: 'image', url: 'https://x/y.png' },
      ],
    );
  });
});

describe('thinking', () => {
  const thought = { type: 'thinking', thinking: 'Hm.', signature: 'of another service' };
  const messages = [
    user,
    { role: 'assistant', content: [thought, { type: 'redacted_thinking', data: 'x' }, createText('A')] },
    user,
  ];

  for (const [thinking, fields, expected] of [
    [{ type: 'enabled', budget_tokens: 7 }, {}, { budgetTokens: 7 }],
    [{ type: 'adaptive' }, {}, {}],
    [{}, {}, {}],
    [{ type: 'adaptive', display: 'omitted' }, { output_config: { effort: 'low' } }, { effort: 'low' }],
    [{ type: 'adaptive' }, { output_config: { effort: 'max' } }, { effort: 'max' }],
    [{ type: 'enabled', budget_tokens: 1 }, { reasoning_effort: 'xhigh' }, { budgetTokens: 1, effort: 'xhigh' }],
    [{ type: 'enabled', budget_tokens: 1 }, { reasoning_effort: 'none' }, undefined],
    [{ type: 'disabled' }, { output_config: { effort: 'max' } }, undefined],
    [{ type: 'between_tools' }, {}, undefined],
    [undefined, { output_config: { effort: 'max' } }, undefined],
  ] as const) {
    test(`decodes ${JSON.stringify({ thinking, ...fields })} as ${JSON.stringify(expected)}`, () => {
      const request = decodeBody({ thinking, messages, ...fields });
      assert.deepEqual(request.thinking, expected);
      assert.equal(request.preserveThinking, expected && true);
    });
  }

  test('keeps the thinking of earlier answers, with any signature', () => {
    assert.deepEqual(decodeMessages({ messages })[1], createMessage('assistant', 'A', { reasoning: 'Hm.' }));
  });
});

describe('cache marks', () => {
  const createMarkedText = (words: string) => createText(words, { cache: 'ephemeral' });

  test('marks the blocks that have a mark', () => {
    const [system, first, , resultMessage] = decodeMessages({
      system: [createText('S', MARK)],
      messages: [
        {
          role: 'user',
          content: [createText('a', MARK), { type: 'document', source: { type: 'content', content: 'D' }, ...MARK }],
        },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'i', name: 'f', input: {} }] },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: 'i', content: [createText('x'), createText('y')], ...MARK }],
        },
      ],
    });
    assert.deepEqual(system?.content, [createMarkedText('S')]);
    assert.deepEqual(first?.content, [createMarkedText('a'), createText('\n\n'), createMarkedText('D')]);
    assert.deepEqual(resultMessage?.content, [createText('x'), createMarkedText('y')]);
  });

  test('marks the last text for a mark at the top level', () => {
    assert.deepEqual(
      decodeMessages({
        ...MARK,
        system: 'S',
        messages: [{ role: 'user', content: [createText('a'), createText('b')] }],
      }),
      [createMessage('system', 'S'), { role: 'user', content: [createText('a'), createMarkedText('b')] }],
    );
  });
});

describe('tools', () => {
  const tool = { name: 'f', description: 'D', input_schema: { type: 'object', properties: {} } };
  const search = { type: 'web_search_20250305', name: 'web_search', max_uses: 3 };
  const decodedTool = { name: 'f', description: 'D', parameters: tool.input_schema, field: 'tools[1].input_schema' };

  for (const [choice, expected, isParallel] of [
    [undefined, 'auto', true],
    [{ type: 'auto' }, 'auto', true],
    [{ type: 'auto', disable_parallel_tool_use: true }, 'auto', false],
    [{ type: 'any' }, 'required', true],
    [{ type: 'tool', name: 'f', disable_parallel_tool_use: true }, { name: 'f' }, false],
  ] as const) {
    test(`decodes the caller's tools with the choice ${JSON.stringify(choice)}`, () => {
      assert.deepEqual(decodeBody({ tools: [search, tool], tool_choice: choice }).toolUse, {
        tools: [decodedTool],
        choice: expected,
        isParallel,
        streamsComplexArguments: true,
      });
    });
  }

  for (const [name, fields] of Object.entries({
    'the choice is none': { tools: [tool], tool_choice: { type: 'none' } },
    'the caller has no tools of its own': { tools: [search] },
    'the list is empty': { tools: [] },
  })) {
    test(`decodes no tools if ${name}`, () => assert.equal(decodeBody(fields).toolUse, undefined));
  }

  test('accepts a tool without a description and parameters', () => {
    const { toolUse } = decodeBody({ tools: [{ type: 'custom', name: 'f', input_schema: {} }] });
    assert.deepEqual(toolUse?.tools, [
      { name: 'f', description: '', parameters: undefined, field: 'tools[0].input_schema' },
    ]);
  });
});

test('decodes an output format by its newer and its older name', () => {
  const format = { type: 'json_schema', schema: { type: 'object' } };
  const outputFormat = { type: 'json-schema', name: 'output', schema: format.schema };
  assert.deepEqual(decodeBody({ output_config: { format } }).outputFormat, {
    ...outputFormat,
    field: 'output_config.format.schema',
  });
  assert.deepEqual(decodeBody({ output_format: format }).outputFormat, {
    ...outputFormat,
    field: 'output_format.schema',
  });
});
