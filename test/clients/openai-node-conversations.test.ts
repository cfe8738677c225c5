import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { BadRequestError, NotFoundError, type OpenAI } from 'openai';
import { useRecordedOpenAI } from './use-recorded-openai.ts';

type Item = OpenAI.Conversations.ConversationItem;

const createMessage = (content: string, role: 'user' | 'assistant' | 'system' | 'developer' = 'user') => ({
  type: 'message' as const,
  role,
  content,
});

/** The most items that one request may carry. */
const TWENTY_MESSAGES = Array.from({ length: 20 }, (_, index) => createMessage(`Number ${index}`));

describe('conversations with the openai client for Node', () => {
  const openai = useRecordedOpenAI({ engine: 'scripted' });

  test('are created and retrieved, with created_at in milliseconds', async () => {
    const { conversations } = openai.client;
    const before = Date.now();
    const created = await conversations.create({ items: [createMessage('Hello')], metadata: { topic: 'tea' } });
    assert.match(created.id, /^conv_/);
    assert.equal(created.object, 'conversation');
    assert.ok(created.created_at >= before && created.created_at <= Date.now(), String(created.created_at));
    assert.deepEqual(created.metadata, { topic: 'tea' });
    assert.deepEqual(await conversations.retrieve(created.id), created);
    assert.deepEqual((await conversations.create({})).metadata, {});
  });

  test('replace all their metadata on update', async () => {
    const { conversations } = openai.client;
    const created = await conversations.create({ metadata: { a: '1', b: '2' } });
    const updated = await conversations.update(created.id, { metadata: { c: '3' } });
    assert.deepEqual(updated, { ...created, metadata: { c: '3' } });
    assert.deepEqual((await conversations.update(created.id, { metadata: {} })).metadata, {});
    assert.deepEqual((await conversations.retrieve(created.id)).metadata, {});
  });

  test('are deleted with their items', async () => {
    const { conversations } = openai.client;
    const { id } = await conversations.create({ items: [createMessage('Hello')] });
    assert.deepEqual(await conversations.delete(id), { id, object: 'conversation.deleted', deleted: true });
    await assert.rejects(conversations.retrieve(id), isNotFound);
    await assert.rejects(conversations.items.list(id), isNotFound);
  });

  test('store their initial items of all roles in order', async () => {
    const { conversations } = openai.client;
    const items = (['system', 'developer', 'user', 'assistant'] as const).map((role) => createMessage(role, role));
    const { id } = await conversations.create({ items });
    const { data } = await conversations.items.list(id, { order: 'asc' });
    assert.deepEqual(
      data.map((item) => item.type === 'message' && [item.role, item.status, item.content]),
      [
        ['system', 'completed', [{ type: 'input_text', text: 'system' }]],
        ['developer', 'completed', [{ type: 'input_text', text: 'developer' }]],
        ['user', 'completed', [{ type: 'input_text', text: 'user' }]],
        ['assistant', 'completed', [{ type: 'output_text', text: 'assistant', annotations: [] }]],
      ],
    );
  });

  test('accept every kind of item that an agent session adds', async () => {
    const { conversations } = openai.client;
    const { id } = await conversations.create({});
    const sent: OpenAI.Responses.ResponseInputItem[] = [
      createMessage('What is the weather?'),
      { type: 'reasoning', id: 'rs_foreign', summary: [{ type: 'summary_text', text: 'Look it up.' }] },
      { type: 'function_call', call_id: 'call_1', name: 'get_weather', arguments: '{"city": "Paris"}' },
      { type: 'function_call_output', call_id: 'call_1', output: '{"sky": "sunny"}' },
    ];
    const added = await conversations.items.create(id, { items: sent });
    assert.deepEqual([added.first_id, added.last_id, added.has_more], [added.data[0]?.id, added.data[3]?.id, false]);
    assert.deepEqual(
      added.data.map(({ type }) => type),
      sent.map(({ type }) => type),
    );
    const [, thought, call, result] = added.data;
    assert.notEqual(thought?.id, 'rs_foreign');
    assert.deepEqual(call, { ...sent[2], id: call?.id, status: 'completed' });
    assert.deepEqual(result, { ...sent[3], id: result?.id, status: 'completed' });
  });

  test('list their items page by page, from both ends and from any item', async () => {
    const { conversations } = openai.client;
    const { id } = await conversations.create({ items: TWENTY_MESSAGES });
    await conversations.items.create(id, { items: [createMessage('Number 20'), createMessage('Number 21')] });
    const all = Array.from({ length: 22 }, (_, index) => `Number ${index}`);

    const ascending: Item[] = [];
    for await (const item of conversations.items.list(id, { order: 'asc', limit: 5 })) ascending.push(item);
    assert.deepEqual(ascending.map(getText), all);

    const descending: Item[] = [];
    for await (const item of conversations.items.list(id)) descending.push(item);
    assert.deepEqual(descending.map(getText), all.toReversed());

    const { data } = await conversations.items.list(id, { order: 'asc', limit: 2, after: ascending[9]?.id ?? '' });
    assert.deepEqual(data.map(getText), ['Number 10', 'Number 11']);
  });

  test('return and delete a single item', async () => {
    const { conversations } = openai.client;
    const { id } = await conversations.create({ items: [createMessage('a'), createMessage('b'), createMessage('c')] });
    const { data } = await conversations.items.list(id, { order: 'asc' });
    const [, second] = data;
    assert.ok(second?.id);
    assert.deepEqual(await conversations.items.retrieve(second.id, { conversation_id: id }), second);
    const left = await conversations.items.delete(second.id, { conversation_id: id });
    assert.equal(left.id, id);
    await assert.rejects(conversations.items.retrieve(second.id, { conversation_id: id }), isNotFound);
    const after = await conversations.items.list(id, { order: 'asc' });
    assert.deepEqual(after.data.map(getText), ['a', 'c']);
  });

  test('finds no conversations of another workspace', async () => {
    const { id } = await openai.client.conversations.create({ items: [createMessage('Mine')] });
    const [item] = (await openai.client.conversations.items.list(id)).data;
    assert.ok(item?.id);
    const itemId = item.id;
    const { conversations } = openai.otherWorkspaceClient;
    for (const attempt of [
      () => conversations.retrieve(id),
      () => conversations.update(id, { metadata: { a: 'b' } }),
      () => conversations.delete(id),
      () => conversations.items.list(id),
      () => conversations.items.create(id, { items: [createMessage('Theirs')] }),
      () => conversations.items.retrieve(itemId, { conversation_id: id }),
      () => conversations.items.delete(itemId, { conversation_id: id }),
    ]) {
      await assert.rejects(attempt(), isNotFound);
    }
    assert.equal((await openai.client.conversations.items.list(id)).data.length, 1);
  });

  for (const [fault, body, param] of [
    ['21 items', { items: [...TWENTY_MESSAGES, createMessage('One more')] }, /^items/],
    [
      'a tool call as the first item',
      { items: [{ type: 'function_call', call_id: 'c', name: 'f', arguments: '' }] },
      /^items\[0\]/,
    ],
    ['an unknown role', { items: [{ role: 'narrator', content: 'Once' }] }, /^items\[0\]\.role$/],
    [
      '17 metadata pairs',
      { metadata: Object.fromEntries(TWENTY_MESSAGES.slice(0, 17).map((_, n) => [`k${n}`, ''])) },
      /^metadata/,
    ],
    ['a number as a metadata value', { metadata: { a: 1 } }, /^metadata/],
  ] as const) {
    test(`are refused with ${fault}, naming the field`, async () => {
      const params = body as unknown as OpenAI.Conversations.ConversationCreateParams;
      await assert.rejects(openai.client.conversations.create(params), (error) => {
        assert.ok(error instanceof BadRequestError, String(error));
        assert.match(String(error.param), param);
        return true;
      });
    });
  }

  openai.testPublishedShapes([
    'Conversation',
    'ConversationDeletedResource',
    'ConversationItemList',
    'Item',
    'ErrorBody',
  ]);
});

const isNotFound = (error: unknown): boolean => {
  assert.ok(error instanceof NotFoundError, String(error));
  assert.equal(error.code, 'not_found');
  return true;
};

function getText(item: Item): string {
  const [part] = item.type === 'message' ? item.content : [];
  return part && 'text' in part ? part.text : item.type;
}
