import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { countedIds } from './__fixtures__/counted-ids.ts';
import { itemsOf } from './items-of.ts';
import type { ItemsOptions } from './items-of.ts';

const told = (wire: unknown, kinds: ItemsOptions['kinds'] = 'all'): unknown[] =>
  itemsOf(wire, { ids: countedIds(), at: 'input', kinds, max: 99 }).map(({ json }) => JSON.parse(json) as unknown);

describe('items of a caller', () => {
  test('a string is the one part that it is, and a message says that it is complete', () => {
    assert.deepEqual(
      told([
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

  test('each gets an id of ours, and all else stays as it was sent', () => {
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
      told(sent),
      sent.map((each, at) => ({ ...each, id: ids[at], ...(at === 3 ? { status: 'completed' } : {}) })),
    );
  });

  test('a key named __proto__ is one like any other', () => {
    const [item] = itemsOf(JSON.parse('[{"role":"user","content":"x","__proto__":{"a":1}}]'), {
      ids: countedIds(),
      at: 'items',
      kinds: 'messages',
      max: 1,
    });
    assert.match(item?.json ?? '', /"__proto__":\{"a":1\}/);
  });

  for (const [name, wire, kinds, param] of [
    ['no list', 'x', 'all', 'input'],
    ['no object', [1], 'all', 'input[0]'],
    ['another role', [{ role: 'tool', content: '' }], 'all', 'input[0].role'],
    ['no content', [{ role: 'user' }], 'all', 'input[0].content'],
    ['an unknown type', [{ type: 'mesage', role: 'user', content: '' }], 'all', 'input[0].type'],
    ['a call without arguments', [{ type: 'function_call', call_id: 'c', name: 'f' }], 'all', 'input[0].arguments'],
    ['a result without its call', [{ type: 'function_call_output', output: '' }], 'all', 'input[0].call_id'],
    ['a part of another kind', [{ role: 'user', content: [{ type: 'video' }] }], 'all', 'input[0].content[0].type'],
    [
      'a file that is nowhere',
      [{ role: 'user', content: [{ type: 'input_file' }] }],
      'all',
      'input[0].content[0].file_id',
    ],
    [
      'a file that is in two places',
      [{ role: 'user', content: [{ type: 'input_file', file_id: 'f', file_data: 'YQ==' }] }],
      'messages',
      'input[0].content[0].file_id',
    ],
    [
      'a file in no base64',
      [{ role: 'user', content: [{ type: 'input_file', file_data: 'data:text/plain,a' }] }],
      'all',
      'input[0].content[0].file_data',
    ],
    [
      'a file by its address',
      [{ role: 'user', content: [{ type: 'input_file', file_url: 'https://example.org/a' }] }],
      'all',
      'input[0].content[0].file_url',
    ],
    [
      'a sound as a result',
      [{ type: 'function_call_output', call_id: 'c', output: [{ type: 'input_audio' }] }],
      'all',
      'input[0].output[0].type',
    ],
    [
      'an image by file',
      [{ role: 'user', content: [{ type: 'input_image', file_id: 'f' }] }],
      'all',
      'input[0].content[0].image_url',
    ],
    ['a reference that nobody has resolved', [{ id: 'msg_1' }], 'all', 'input[0]'],
    ['what has an id and says something as somebody unnamed', [{ id: 'msg_1', content: '' }], 'all', 'input[0].role'],
    [
      'a call where only messages are allowed',
      [{ type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' }],
      'messages',
      'input[0].type',
    ],
  ] as const) {
    test(`refuses ${name}, naming the field`, () => {
      assert.throws(() => told(wire, kinds), { name: 'ServiceError', param });
    });
  }

  test('refuses more items than may be, and no fewer', () => {
    const wire = Array.from({ length: 3 }, () => ({ role: 'user', content: '' }));
    const options = { ids: countedIds(), at: 'items', kinds: 'messages' } as const;
    assert.equal(itemsOf(wire, { ...options, max: 3 }).length, 3);
    assert.throws(() => itemsOf(wire, { ...options, max: 2 }), { param: 'items', message: /at most 2 items/ });
  });
});
