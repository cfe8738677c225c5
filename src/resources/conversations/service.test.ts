import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { Item } from '../../core/item.ts';
import { openTestStore } from '../../store/__fixtures__/open-test-store.ts';
import type { Store } from '../../store/store.ts';
import type { Conversations } from './conversation.ts';
import { createConversations } from './service.ts';

const START = Date.parse('2026-07-01T12:00:00Z');
const OWNER = { region: 'cn-beijing', workspace: 'primary', keyId: 'key_1' } as const;
const STRANGERS = [
  { ...OWNER, workspace: 'other' },
  { ...OWNER, region: 'ap-southeast-1' },
] as const;

let nowMs = START;
const clock = { now: () => nowMs, monotonic: () => nowMs - START };
let store: Store;
let conversations: Conversations;

beforeEach(async () => {
  nowMs = START;
  store = await openTestStore();
  conversations = createConversations({ store, clock });
});
afterEach(() => store.close());

const item = (id: string): Item => ({ id, json: `{"id":"${id}"}` });
const listIds = async (id: string) => {
  const { items } = await conversations.listItems(OWNER, id, { limit: 100, order: 'asc' });
  return items.map((each) => each.id);
};

describe('conversations', () => {
  it('stores the initial items and appends later ones', async () => {
    const metadata = new Map([['__proto__', 'a']]);
    const created = await conversations.create(OWNER, { items: [item('msg_1'), item('msg_2')], metadata });
    assert.match(created.id, /^conv_[0-9a-f]{32}$/);
    assert.deepEqual(created, { id: created.id, createdAt: START, metadata });
    assert.deepEqual(await conversations.find(OWNER, created.id), created);
    await conversations.addItems(OWNER, created.id, [item('fc_1'), item('fco_1')]);
    assert.deepEqual(await listIds(created.id), ['msg_1', 'msg_2', 'fc_1', 'fco_1']);
    assert.deepEqual(await conversations.findItem(OWNER, created.id, 'fc_1'), item('fc_1'));
  });

  it('replaces all metadata on update', async () => {
    const { id } = await conversations.create(OWNER, { items: [], metadata: new Map([['a', '1']]) });
    const updated = await conversations.update(OWNER, id, new Map([['b', '2']]));
    assert.deepEqual(updated.metadata, new Map([['b', '2']]));
    assert.deepEqual((await conversations.find(OWNER, id)).metadata, new Map([['b', '2']]));
    assert.deepEqual((await conversations.update(OWNER, id, new Map())).metadata, new Map());
  });

  it('stores all items of a call or none', async () => {
    const { id } = await conversations.create(OWNER, { items: [item('msg_1')], metadata: new Map() });
    await assert.rejects(conversations.addItems(OWNER, id, [item('msg_2'), item('msg_1')]), { kind: 'internal' });
    assert.deepEqual(await listIds(id), ['msg_1']);
    await assert.rejects(conversations.create(OWNER, { items: [item('msg_a'), item('msg_a')], metadata: new Map() }), {
      kind: 'internal',
    });
    assert.equal((await store.conversations.list({ limit: 9 })).length, 1);
  });

  it('refuses input above the limits and changes nothing', async () => {
    const many = Array.from({ length: 21 }, (_, at) => item(`msg_${at}`));
    const long = new Map([['k', 'v'.repeat(513)]]);
    await assert.rejects(conversations.create(OWNER, { items: many, metadata: new Map() }), { param: 'items' });
    await assert.rejects(conversations.create(OWNER, { items: [], metadata: long }), { param: 'metadata.k' });
    const { id } = await conversations.create(OWNER, { items: [], metadata: new Map() });
    await assert.rejects(conversations.addItems(OWNER, id, many), { param: 'items' });
    await assert.rejects(conversations.update(OWNER, id, long), { param: 'metadata.k' });
    assert.deepEqual(await listIds(id), []);
  });

  it('returns the conversation after deleting an item, and deletes a conversation with its items', async () => {
    const { id } = await conversations.create(OWNER, { items: [item('msg_1'), item('msg_2')], metadata: new Map() });
    assert.equal((await conversations.deleteItem(OWNER, id, 'msg_1')).id, id);
    assert.deepEqual(await listIds(id), ['msg_2']);
    await assert.rejects(conversations.deleteItem(OWNER, id, 'msg_1'), { kind: 'not-found' });
    await conversations.delete(OWNER, id);
    assert.deepEqual(await store.items.findMany(OWNER, ['msg_2']), new Map());
    await assert.rejects(conversations.delete(OWNER, id), { kind: 'not-found' });
  });

  it('counts the age of a conversation from its last change', async () => {
    const { id } = await conversations.create(OWNER, { items: [item('msg_1')], metadata: new Map() });
    const isOlderThan = async (before: number) =>
      (await store.conversations.listUnchanged({ before, now: nowMs, limit: 9 })).length === 1;
    assert.ok(await isOlderThan(START + 1));
    for (const change of [
      () => conversations.addItems(OWNER, id, [item('msg_2')]),
      () => conversations.deleteItem(OWNER, id, 'msg_1'),
      () => conversations.update(OWNER, id, new Map()),
    ]) {
      nowMs += 10;
      await change();
      assert.ok(!(await isOlderThan(nowMs)) && (await isOlderThan(nowMs + 1)), String(change));
    }
  });

  it('is not found by other workspaces and regions', async () => {
    const { id } = await conversations.create(OWNER, { items: [item('msg_1')], metadata: new Map([['a', '1']]) });
    const page = { limit: 9, order: 'asc' } as const;
    const notFound = { kind: 'not-found', message: `Conversation with id '${id}' not found.` };
    for (const stranger of STRANGERS) {
      await assert.rejects(conversations.find(stranger, id), notFound);
      await assert.rejects(conversations.update(stranger, id, new Map()), notFound);
      await assert.rejects(conversations.delete(stranger, id), notFound);
      await assert.rejects(conversations.addItems(stranger, id, [item('msg_2')]), notFound);
      await assert.rejects(conversations.listItems(stranger, id, page), notFound);
      await assert.rejects(conversations.findItem(stranger, id, 'msg_1'), notFound);
      await assert.rejects(conversations.deleteItem(stranger, id, 'msg_1'), notFound);
    }
    assert.deepEqual((await conversations.find(OWNER, id)).metadata, new Map([['a', '1']]));
    assert.deepEqual(await listIds(id), ['msg_1']);
  });

  it('refuses an item of another conversation, also as a list cursor', async () => {
    const { id } = await conversations.create(OWNER, { items: [item('msg_1')], metadata: new Map() });
    const other = await conversations.create(OWNER, { items: [item('msg_2')], metadata: new Map() });
    await assert.rejects(conversations.findItem(OWNER, other.id, 'msg_1'), {
      kind: 'not-found',
      message: `Item with id 'msg_1' not found in conversation '${other.id}'.`,
    });
    await assert.rejects(conversations.listItems(OWNER, id, { limit: 9, order: 'asc', after: 'msg_2' }), {
      kind: 'invalid-request',
      param: 'after',
    });
  });

  it('shortens an invalid id in the error message', async () => {
    await assert.rejects(conversations.find(OWNER, 'x'.repeat(5000)), ({ message }: Error) => message.length < 200);
  });
});
