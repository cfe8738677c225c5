import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Message } from '../../../core/message.ts';
import type { GenerationRequest } from '../../../core/request.ts';
import { parseBody } from '../../parse.ts';
import { decode, decodePrompt } from './decode.ts';
import { MessagesBody } from './schema.ts';

const user = { role: 'user', content: 'Hi' };
const text = (said: string, more: object = {}) => ({ type: 'text', text: said, ...more });
const said = (role: Message['role'], words: string, more: object = {}) => ({ role, content: [text(words)], ...more });
const parts = Array.from({ length: 6 }, () => ({ type: 'text' as const, text: 'a' }));
const MARK = { cache_control: { type: 'ephemeral' } };

function read(fields: object): GenerationRequest {
  const body: unknown = JSON.parse(JSON.stringify({ model: 'm', max_tokens: 9, messages: [user], ...fields }));
  return decode(parseBody(MessagesBody, body).wire);
}

const messagesOf = (fields: object): readonly Message[] => read(fields).messages;

test('parameters have our names', () => {
  assert.deepEqual(read({ temperature: 0.5, top_p: 0.9, top_k: 3, stop_sequences: ['a', 'b'], system: null }), {
    model: 'm',
    messages: [said('user', 'Hi')],
    sampling: { temperature: 0.5, topP: 0.9, topK: 3 },
    stop: { strings: ['a', 'b'], tokens: [] },
    maxTokens: 9,
    choices: 1,
  });
});

describe('the system prompt', () => {
  for (const [name, system, expected] of [
    ['a string', 'Be brief.', [said('system', 'Be brief.')]],
    [
      'blocks',
      [text('Be brief. '), text('Be kind.')],
      [{ role: 'system', content: [text('Be brief. '), text('Be kind.')] }],
    ],
    ['an empty string', '', []],
    ['no blocks', [], []],
    ['blocks without words', [text(''), text('')], []],
    ['null', null, []],
  ] as const) {
    test(`may be ${name}`, () => {
      assert.deepEqual(messagesOf({ system }), [...expected, said('user', 'Hi')]);
    });
  }

  test('may be said in a turn, at its place', () => {
    assert.deepEqual(
      messagesOf({ system: 'A', messages: [user, { role: 'system', content: 'B' }] }).map(({ role }) => role),
      ['system', 'user', 'system'],
    );
  });
});

describe('turns', () => {
  test('of one role in a row are one message, set apart', () => {
    const messages = [user, { role: 'user', content: [text('there')] }, { role: 'assistant', content: 'A' }, user];
    assert.deepEqual(messagesOf({ messages }), [
      { role: 'user', content: [text('Hi'), text('\n\n'), text('there')] },
      said('assistant', 'A'),
      said('user', 'Hi'),
    ]);
  });

  test('of one role keep thoughts, texts and calls of both', () => {
    const call = (id: string) => ({ type: 'tool_use', id, name: 'f', input: {} });
    const messages = [
      user,
      { role: 'assistant', content: [{ type: 'thinking', thinking: 'Hm.', signature: 's' }, call('a')] },
      { role: 'assistant', content: [{ type: 'thinking', thinking: 'Ah.', signature: 's' }, call('b')] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a' }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'b' }] },
    ];
    const [, both, ...results] = messagesOf({ messages });
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

  test('of one role take time linear in their number', () => {
    const wire = {
      model: 'm',
      messages: Array.from({ length: 10_000 }, () => ({ role: 'user' as const, content: parts })),
    };
    const before = process.threadCpuUsage();
    const [message] = decodePrompt(wire).messages;
    const { user: computed, system: moved } = process.threadCpuUsage(before);
    // A square takes five seconds and more, most of them to move memory.
    assert.ok(computed + moved < 2_000_000, `${computed + moved} µs`);
    assert.equal(message?.content.length, 10_000 * parts.length + 9_999);
  });

  test('of the assistant at the end are the beginning of the answer', () => {
    const prefill = { role: 'assistant', content: 'The capital is' };
    assert.deepEqual(messagesOf({ messages: [user, prefill] }), [
      said('user', 'Hi'),
      said('assistant', 'The capital is', { partial: true }),
    ]);
    const twice = messagesOf({ messages: [user, prefill, { role: 'assistant', content: 'Paris' }] });
    assert.deepEqual(twice[1], {
      role: 'assistant',
      content: [text('The capital is'), text('\n\n'), text('Paris')],
      partial: true,
    });
    assert.equal(messagesOf({ messages: [user, prefill, user] })[1]?.partial, undefined);
  });

  test('of the assistant begin the answer also where an empty one of the system follows', () => {
    for (const content of ['', [], [text('')]]) {
      const messages = [user, { role: 'assistant', content: 'A' }, { role: 'system', content }];
      assert.deepEqual(messagesOf({ messages }), [said('user', 'Hi'), said('assistant', 'A', { partial: true })]);
    }
  });

  test('lose halves of characters, which no text can hold', () => {
    assert.deepEqual(messagesOf({ messages: [{ role: 'user', content: 'a\ud800' }] }), [said('user', 'a\ufffd')]);
  });
});

describe('calls and their results', () => {
  const call = { type: 'tool_use', id: 'toolu_1', name: 'f', input: { city: 'Paris' } };
  const result = (more: object) => ({ type: 'tool_result', tool_use_id: 'toolu_1', ...more });
  const after = (...blocks: object[]) =>
    messagesOf({ messages: [user, { role: 'assistant', content: [call] }, { role: 'user', content: blocks }] }).slice(
      2,
    );

  test('are calls with JSON', () => {
    const [, assistant] = messagesOf({ messages: [user, { role: 'assistant', content: [text('So: '), call] }, user] });
    assert.deepEqual(assistant, {
      role: 'assistant',
      content: [text('So: ')],
      toolCalls: [{ id: 'toolu_1', name: 'f', arguments: '{"city":"Paris"}' }],
    });
  });

  test('have no halves of characters in their names', () => {
    const messages = [user, { role: 'assistant', content: [{ ...call, name: 'f\ud800' }] }, user];
    assert.equal(messagesOf({ messages })[1]?.toolCalls?.[0]?.name, 'f\ufffd');
  });

  for (const [name, more, content] of [
    ['a string', { content: 'Sunny' }, [text('Sunny')]],
    ['blocks', { content: [text('Sun'), text('ny')] }, [text('Sun'), text('ny')]],
    ['nothing', {}, []],
    ['null', { content: null, is_error: null }, []],
    ['an error', { content: 'Down', is_error: true }, [text('Error: '), text('Down')]],
    ['an error without a word', { is_error: true }, [text('Error: ')]],
    [
      'a document',
      { content: [{ type: 'document', title: 'T', source: { type: 'text', media_type: 'text/plain', data: 'D' } }] },
      [text('T\n\nD')],
    ],
    ['tools that were found', { content: [{ type: 'tool_reference', tool_name: 'f' }] }, [text('f\n')]],
  ] as const) {
    test(`may say ${name}`, () => {
      assert.deepEqual(after(result(more)), [{ role: 'tool', toolCallId: 'toolu_1', content }]);
    });
  }

  test('stand where they were said', () => {
    const [before, told, behind] = after(text('Look:'), result({ content: 'Sunny' }), text('And?'));
    assert.deepEqual(before, said('user', 'Look:'));
    assert.deepEqual(told, { role: 'tool', toolCallId: 'toolu_1', content: [text('Sunny')] });
    assert.deepEqual(behind, said('user', 'And?'));
  });
});

describe('blocks', () => {
  const decoded = (...content: object[]) => messagesOf({ messages: [{ role: 'user', content }] })[0]?.content;
  const document = (source: object, more: object = {}) => ({ type: 'document', source, ...more });
  const plain = (data: string) => ({ type: 'text', media_type: 'text/plain', data });

  test('of text are one text, as they are', () => {
    assert.deepEqual(decoded(text('a'), text('b')), [text('a'), text('b')]);
  });

  test('of a document are set apart, under its title and context', () => {
    assert.deepEqual(decoded(text('See'), document(plain('D'), { title: 'T', context: 'C' }), text('Why?')), [
      text('See'),
      text('\n\n'),
      text('T\nC\n\nD'),
      text('\n\n'),
      text('Why?'),
    ]);
    assert.deepEqual(decoded(document({ type: 'content', content: 'D' })), [text('D')]);
    assert.deepEqual(decoded(document({ type: 'content', content: [text('D'), text('E')] })), [text('DE')]);
  });

  test('of a search result are a document', () => {
    const found = { type: 'search_result', title: 'T', source: 'https://x', content: [text('D')] };
    assert.deepEqual(decoded(found, found), [text('T\nhttps://x\n\nD'), text('\n\n'), text('T\nhttps://x\n\nD')]);
  });

  test('of images are addresses', () => {
    assert.deepEqual(
      decoded(
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
    { role: 'assistant', content: [thought, { type: 'redacted_thinking', data: 'x' }, text('A')] },
    user,
  ];

  for (const [thinking, more, wish] of [
    [{ type: 'enabled', budget_tokens: 7 }, {}, { budgetTokens: 7 }],
    [{ type: 'adaptive' }, {}, {}],
    [{ type: 'adaptive', display: 'omitted' }, { output_config: { effort: 'low' } }, { effort: 'high' }],
    [{ type: 'adaptive' }, { output_config: { effort: 'max' } }, { effort: 'max' }],
    [{ type: 'enabled', budget_tokens: 1 }, { reasoning_effort: 'xhigh' }, { budgetTokens: 1, effort: 'max' }],
    [{ type: 'enabled', budget_tokens: 1 }, { reasoning_effort: 'none' }, undefined],
    [{ type: 'disabled' }, { output_config: { effort: 'max' } }, undefined],
    [{ type: 'between_tools' }, {}, undefined],
    [undefined, { output_config: { effort: 'max' } }, undefined],
  ] as const) {
    test(`with ${JSON.stringify({ thinking, ...more })} is ${JSON.stringify(wish)}`, () => {
      const request = read({ thinking, messages, ...more });
      assert.deepEqual(request.thinking, wish);
      assert.equal(request.preserveThinking, wish && true);
    });
  }

  test('of earlier answers comes back, whoever signed it', () => {
    assert.deepEqual(messagesOf({ messages })[1], said('assistant', 'A', { reasoning: 'Hm.' }));
  });
});

describe('cache marks', () => {
  const marked = (words: string) => text(words, { cache: 'ephemeral' });

  test('stand on what they were put on', () => {
    const [system, first, , told] = messagesOf({
      system: [text('S', MARK)],
      messages: [
        {
          role: 'user',
          content: [text('a', MARK), { type: 'document', source: { type: 'content', content: 'D' }, ...MARK }],
        },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'i', name: 'f', input: {} }] },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: 'i', content: [text('x'), text('y')], ...MARK }],
        },
      ],
    });
    assert.deepEqual(system?.content, [marked('S')]);
    assert.deepEqual(first?.content, [marked('a'), text('\n\n'), marked('D')]);
    assert.deepEqual(told?.content, [text('x'), marked('y')]);
  });

  test('at the top stand on the last text', () => {
    assert.deepEqual(
      messagesOf({ ...MARK, system: 'S', messages: [{ role: 'user', content: [text('a'), text('b')] }] }),
      [said('system', 'S'), { role: 'user', content: [text('a'), marked('b')] }],
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
    test(`with ${JSON.stringify(choice)} are those of the caller`, () => {
      assert.deepEqual(read({ tools: [search, tool], tool_choice: choice }).toolUse, {
        tools: [decodedTool],
        choice: expected,
        isParallel,
        streamsComplex: true,
      });
    });
  }

  for (const [name, fields] of Object.entries({
    'none are chosen': { tools: [tool], tool_choice: { type: 'none' } },
    'none are the caller’s': { tools: [search] },
    'there are none': { tools: [] },
  })) {
    test(`are none where ${name}`, () => assert.equal(read(fields).toolUse, undefined));
  }

  test('may say nothing of themselves', () => {
    const { toolUse } = read({ tools: [{ type: 'custom', name: 'f', input_schema: {} }] });
    assert.deepEqual(toolUse?.tools, [
      { name: 'f', description: '', parameters: undefined, field: 'tools[0].input_schema' },
    ]);
  });
});

test('a format is a schema, under its newer and its older name', () => {
  const format = { type: 'json_schema', schema: { type: 'object' } };
  const outputFormat = { type: 'json-schema', name: 'output', schema: format.schema };
  assert.deepEqual(read({ output_config: { format } }).outputFormat, {
    ...outputFormat,
    field: 'output_config.format.schema',
  });
  assert.deepEqual(read({ output_format: format }).outputFormat, { ...outputFormat, field: 'output_format.schema' });
});
