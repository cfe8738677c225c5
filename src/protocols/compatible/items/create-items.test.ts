import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createCountingIds } from './__fixtures__/fake-ids.ts';
import { createItems, createItemsInSteps, type CreateItemsOptions } from './create-items.ts';

const createAndParse = (wire: unknown, kinds: CreateItemsOptions['kinds'] = 'all'): unknown[] =>
  createItems(wire, { ids: createCountingIds(), field: 'input', kinds, max: 99 }).map(
    ({ json }) => JSON.parse(json) as unknown,
  );

describe('creating items', () => {
  test('converts string content to one part, and adds the status completed to messages', () => {
    assert.deepEqual(
      createAndParse([
        { role: 'user', content: 'Hi' },
        { type: 'message', role: 'assistant', content: 'Hello' },
      ]),
      [
        {
          type: 'message',
          id: 'msg_1',
          status: 'completed',
          role: 'user',
          content: [{ type: 'input_text', text: 'Hi' }],
        },
        {
          type: 'message',
          id: 'msg_2',
          status: 'completed',
          role: 'assistant',
          content: [{ type: 'output_text', text: 'Hello', annotations: [] }],
        },
      ],
    );
  });

  test('assigns new ids and keeps all other fields', () => {
    const sent = [
      {
        type: 'message',
        id: 'msg_theirs',
        status: 'incomplete',
        role: 'assistant',
        phase: 'commentary',
        content: [
          { type: 'output_text', text: 'a', annotations: [{ type: 'url_citation', url: 'u' }], logprobs: [] },
          { type: 'refusal', refusal: 'no' },
        ],
      },
      {
        type: 'reasoning',
        id: 'rs_x',
        summary: [{ type: 'summary_text', text: 's' }],
        content: [{ type: 'reasoning_text', text: 't' }],
        encrypted_content: 'e',
      },
      { type: 'function_call', id: 'fc_x', call_id: 'call_1', name: 'f', arguments: '{"a":1}', status: 'completed' },
      { type: 'function_call_output', call_id: 'call_1', output: [{ type: 'input_text', text: 'r' }] },
      { type: 'web_search_call', id: 'ws_x', status: 'completed', action: { type: 'search', query: 'q' } },
      { type: 'mcp_list_tools', id: 'm', server_label: 's', tools: [] },
      { type: 'shell_call_output', id: 's', call_id: 'c', output: [] },
    ];
    const ids = ['msg_1', 'rs_2', 'fc_3', 'fco_4', 'ws_5', 'item_6', 'item_7'];
    assert.deepEqual(
      createAndParse(sent),
      sent.map((each, at) => ({ ...each, id: ids[at], ...(at === 3 ? { status: 'completed' } : {}) })),
    );
  });

  test('keeps a key named __proto__', () => {
    const [item] = createItems(JSON.parse('[{"role":"user","content":"x","__proto__":{"a":1}}]'), {
      ids: createCountingIds(),
      field: 'items',
      kinds: 'messages',
      max: 1,
    });
    assert.match(item?.json ?? '', /"__proto__":\{"a":1\}/);
  });

  for (const [name, wire, kinds, param] of [
    ['a value that is not a list', 'x', 'all', 'input'],
    ['an item that is not an object', [1], 'all', 'input[0]'],
    ['an unknown role', [{ role: 'tool', content: '' }], 'all', 'input[0].role'],
    ['a message without content', [{ role: 'user' }], 'all', 'input[0].content'],
    ['an unknown type', [{ type: 'no_such_type', role: 'user', content: '' }], 'all', 'input[0].type'],
    ['a call without arguments', [{ type: 'function_call', call_id: 'c', name: 'f' }], 'all', 'input[0].arguments'],
    ['a result without call_id', [{ type: 'function_call_output', output: '' }], 'all', 'input[0].call_id'],
    ['an unknown part type', [{ role: 'user', content: [{ type: 'video' }] }], 'all', 'input[0].content[0].type'],
    [
      'a file without id or data',
      [{ role: 'user', content: [{ type: 'input_file' }] }],
      'all',
      'input[0].content[0].file_id',
    ],
    [
      'a file with both id and data',
      [{ role: 'user', content: [{ type: 'input_file', file_id: 'f', file_data: 'YQ==' }] }],
      'messages',
      'input[0].content[0].file_id',
    ],
    [
      'a file that is not base64',
      [{ role: 'user', content: [{ type: 'input_file', file_data: 'data:text/plain,a' }] }],
      'all',
      'input[0].content[0].file_data',
    ],
    [
      'a file by URL',
      [{ role: 'user', content: [{ type: 'input_file', file_url: 'https://example.org/a' }] }],
      'all',
      'input[0].content[0].file_url',
    ],
    [
      'audio in a result',
      [{ type: 'function_call_output', call_id: 'c', output: [{ type: 'input_audio' }] }],
      'all',
      'input[0].output[0].type',
    ],
    [
      'an image by file id',
      [{ role: 'user', content: [{ type: 'input_image', file_id: 'f' }] }],
      'all',
      'input[0].content[0].image_url',
    ],
    ['an item with only an id', [{ id: 'msg_1' }], 'all', 'input[0]'],
    ['an item with id and content but no role', [{ id: 'msg_1', content: '' }], 'all', 'input[0].role'],
    [
      'a call where only messages are allowed',
      [{ type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' }],
      'messages',
      'input[0].type',
    ],
  ] as const) {
    test(`refuses ${name}, naming the field`, () => {
      assert.throws(() => createAndParse(wire, kinds), { name: 'ServiceError', param });
    });
  }

  test('creates long lists in steps, in order, and names the position of an invalid item', async () => {
    const wire = Array.from({ length: 1200 }, (_, at) => ({ role: 'user', content: `${at}` }));
    const options = { ids: createCountingIds(), field: 'input', kinds: 'all', max: 2000 } as const;
    const items = await createItemsInSteps(wire, options);
    assert.deepEqual(
      items.map(({ json }) => (JSON.parse(json) as { content: { text: string }[] }).content[0]?.text),
      wire.map(({ content }) => content),
    );
    await assert.rejects(createItemsInSteps(wire.with(1100, { role: 'user', content: 5 as never }), options), {
      param: 'input[1100].content',
    });
    await assert.rejects(createItemsInSteps(wire, { ...options, max: 1199 }), { message: /at most 1199 items/ });
    assert.deepEqual(await createItemsInSteps([], options), []);
  });

  test('refuses more items than the limit', () => {
    const wire = Array.from({ length: 3 }, () => ({ role: 'user', content: '' }));
    const options = { ids: createCountingIds(), field: 'items', kinds: 'messages' } as const;
    assert.equal(createItems(wire, { ...options, max: 3 }).length, 3);
    assert.throws(() => createItems(wire, { ...options, max: 2 }), { param: 'items', message: /at most 2 items/ });
  });
});
