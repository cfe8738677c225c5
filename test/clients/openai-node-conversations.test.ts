import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { BadRequestError, NotFoundError, type OpenAI } from 'openai';
import { useRecordedOpenAI } from './use-recorded-openai.ts';

type Item = OpenAI.Conversations.ConversationItem;

const message = (content: string, role: 'user' | 'assistant' | 'system' | 'developer' = 'user') => ({
  type: 'message' as const,
  role,
  content,
});

/** As many as one call may bring. */
const TWENTY = Array.from({ length: 20 }, (_, index) => message(`Number ${index}`));

describe('conversations with the openai client for Node', () => {
  const openai = useRecordedOpenAI({ engine: 'scripted' });

  test('are made and retrieved, with their age in milliseconds', async () => {
    const { conversations } = openai.client;
    const before = Date.now();
    const made = await conversations.create({ items: [message('Hello')], metadata: { topic: 'tea' } });
    assert.match(made.id, /^conv_/);
    assert.equal(made.object, 'conversation');
    assert.ok(made.created_at >= before && made.created_at <= Date.now(), String(made.created_at));
    assert.deepEqual(made.metadata, { topic: 'tea' });
    assert.deepEqual(await conversations.retrieve(made.id), made);
    assert.deepEqual((await conversations.create({})).metadata, {});
  });

  test('get new metadata in the place of all there was', async () => {
    const { conversations } = openai.client;
    const made = await conversations.create({ metadata: { a: '1', b: '2' } });
    const updated = await conversations.update(made.id, { metadata: { c: '3' } });
    assert.deepEqual(updated, { ...made, metadata: { c: '3' } });
    assert.deepEqual((await conversations.update(made.id, { metadata: {} })).metadata, {});
    assert.deepEqual((await conversations.retrieve(made.id)).metadata, {});
  });

  test('are deleted with their items', async () => {
    const { conversations } = openai.client;
    const { id } = await conversations.create({ items: [message('Hello')] });
    assert.deepEqual(await conversations.delete(id), { id, object: 'conversation.deleted', deleted: true });
    await assert.rejects(conversations.retrieve(id), isNotFound);
    await assert.rejects(conversations.items.list(id), isNotFound);
  });

  test('keep what they were begun with, for all roles, in their order', async () => {
    const { conversations } = openai.client;
    const items = (['system', 'developer', 'user', 'assistant'] as const).map((role) => message(role, role));
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

  test('take items of every kind that a session of an agent adds', async () => {
    const { conversations } = openai.client;
    const { id } = await conversations.create({});
    const sent: OpenAI.Responses.ResponseInputItem[] = [
      message('What is the weather?'),
      { type: 'reasoning', id: 'rs_of_theirs', summary: [{ type: 'summary_text', text: 'Look it up.' }] },
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
    assert.notEqual(thought?.id, 'rs_of_theirs');
    assert.deepEqual(call, { ...sent[2], id: call?.id, status: 'completed' });
    assert.deepEqual(result, { ...sent[3], id: result?.id, status: 'completed' });
  });

  test('are listed page by page, from both ends and from any item', async () => {
    const { conversations } = openai.client;
    const { id } = await conversations.create({ items: TWENTY });
    await conversations.items.create(id, { items: [message('Number 20'), message('Number 21')] });
    const all = Array.from({ length: 22 }, (_, index) => `Number ${index}`);

    const ascending: Item[] = [];
    for await (const item of conversations.items.list(id, { order: 'asc', limit: 5 })) ascending.push(item);
    assert.deepEqual(ascending.map(textOf), all);

    const descending: Item[] = [];
    for await (const item of conversations.items.list(id)) descending.push(item);
    assert.deepEqual(descending.map(textOf), all.toReversed());

    const { data } = await conversations.items.list(id, { order: 'asc', limit: 2, after: ascending[9]?.id ?? '' });
    assert.deepEqual(data.map(textOf), ['Number 10', 'Number 11']);
  });

  test('give one item out, and lose one', async () => {
    const { conversations } = openai.client;
    const { id } = await conversations.create({ items: [message('a'), message('b'), message('c')] });
    const { data } = await conversations.items.list(id, { order: 'asc' });
    const [, second] = data;
    assert.ok(second?.id);
    assert.deepEqual(await conversations.items.retrieve(second.id, { conversation_id: id }), second);
    const left = await conversations.items.delete(second.id, { conversation_id: id });
    assert.equal(left.id, id);
    await assert.rejects(conversations.items.retrieve(second.id, { conversation_id: id }), isNotFound);
    const after = await conversations.items.list(id, { order: 'asc' });
    assert.deepEqual(after.data.map(textOf), ['a', 'c']);
  });

  test('of others are not there', async () => {
    const { id } = await openai.client.conversations.create({ items: [message('Mine')] });
    const [item] = (await openai.client.conversations.items.list(id)).data;
    assert.ok(item?.id);
    const mine = item.id;
    const { conversations } = openai.stranger;
    for (const attempt of [
      () => conversations.retrieve(id),
      () => conversations.update(id, { metadata: { a: 'b' } }),
      () => conversations.delete(id),
      () => conversations.items.list(id),
      () => conversations.items.create(id, { items: [message('Theirs')] }),
      () => conversations.items.retrieve(mine, { conversation_id: id }),
      () => conversations.items.delete(mine, { conversation_id: id }),
    ]) {
      await assert.rejects(attempt(), isNotFound);
    }
    assert.equal((await openai.client.conversations.items.list(id)).data.length, 1);
  });

  for (const [fault, body, param] of [
    ['21 items', { items: [...TWENTY, message('One more')] }, /^items/],
    [
      'a call at their beginning',
      { items: [{ type: 'function_call', call_id: 'c', name: 'f', arguments: '' }] },
      /^items\[0\]/,
    ],
    ['a role that there is none of', { items: [{ role: 'narrator', content: 'Once' }] }, /^items\[0\]\.role$/],
    [
      '17 pairs of metadata',
      { metadata: Object.fromEntries(TWENTY.slice(0, 17).map((_, n) => [`k${n}`, ''])) },
      /^metadata/,
    ],
    ['a value of metadata that is a number', { metadata: { a: 1 } }, /^metadata/],
  ] as const) {
    test(`are refused with ${fault}, which is named`, async () => {
      const asked = body as unknown as OpenAI.Conversations.ConversationCreateParams;
      await assert.rejects(openai.client.conversations.create(asked), (error) => {
        assert.ok(error instanceof BadRequestError, String(error));
        assert.match(String(error.param), param);
        return true;
      });
    });
  }

  openai.testPublished(['Conversation', 'ConversationDeletedResource', 'ConversationItemList', 'Item', 'ErrorBody']);
});

const isNotFound = (error: unknown): boolean => {
  assert.ok(error instanceof NotFoundError, String(error));
  assert.equal(error.code, 'not_found');
  return true;
};

function textOf(item: Item): string {
  const [part] = item.type === 'message' ? item.content : [];
  return part && 'text' in part ? part.text : item.type;
}
