import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { Item } from '../../core/item.ts';
import { sqliteDialect } from '../../store/dialects/sqlite.ts';
import { openStore, type Store } from '../../store/store.ts';
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
  store = await openStore({ dialect: sqliteDialect({ file: ':memory:' }) });
  conversations = createConversations({ store, clock });
});
afterEach(() => store.close());

const item = (id: string): Item => ({ id, json: `{"id":"${id}"}` });
const all = async (id: string) => {
  const { items } = await conversations.listItems(OWNER, id, { limit: 100, order: 'asc' });
  return items.map((each) => each.id);
};

describe('conversations', () => {
  it('keeps what it was made of, and adds behind it', async () => {
    const metadata = new Map([['__proto__', 'a']]);
    const made = await conversations.create(OWNER, { items: [item('msg_1'), item('msg_2')], metadata });
    assert.match(made.id, /^conv_[0-9a-f]{32}$/);
    assert.deepEqual(made, { id: made.id, createdAt: START, metadata });
    assert.deepEqual(await conversations.find(OWNER, made.id), made);
    await conversations.addItems(OWNER, made.id, [item('fc_1'), item('fco_1')]);
    assert.deepEqual(await all(made.id), ['msg_1', 'msg_2', 'fc_1', 'fco_1']);
    assert.deepEqual(await conversations.findItem(OWNER, made.id, 'fc_1'), item('fc_1'));
  });

  it('puts new metadata in the place of all there was', async () => {
    const { id } = await conversations.create(OWNER, { items: [], metadata: new Map([['a', '1']]) });
    const updated = await conversations.update(OWNER, id, new Map([['b', '2']]));
    assert.deepEqual(updated.metadata, new Map([['b', '2']]));
    assert.deepEqual((await conversations.find(OWNER, id)).metadata, new Map([['b', '2']]));
    assert.deepEqual((await conversations.update(OWNER, id, new Map())).metadata, new Map());
  });

  it('takes all items of a call or none', async () => {
    const { id } = await conversations.create(OWNER, { items: [item('msg_1')], metadata: new Map() });
    await assert.rejects(conversations.addItems(OWNER, id, [item('msg_2'), item('msg_1')]), { kind: 'internal' });
    assert.deepEqual(await all(id), ['msg_1']);
    await assert.rejects(conversations.create(OWNER, { items: [item('msg_a'), item('msg_a')], metadata: new Map() }), {
      kind: 'internal',
    });
    assert.equal((await store.conversations.list({ limit: 9 })).length, 1);
  });

  it('refuses what is beyond the limits and changes nothing', async () => {
    const many = Array.from({ length: 21 }, (_, at) => item(`msg_${at}`));
    const long = new Map([['k', 'v'.repeat(513)]]);
    await assert.rejects(conversations.create(OWNER, { items: many, metadata: new Map() }), { param: 'items' });
    await assert.rejects(conversations.create(OWNER, { items: [], metadata: long }), { param: 'metadata.k' });
    const { id } = await conversations.create(OWNER, { items: [], metadata: new Map() });
    await assert.rejects(conversations.addItems(OWNER, id, many), { param: 'items' });
    await assert.rejects(conversations.update(OWNER, id, long), { param: 'metadata.k' });
    assert.deepEqual(await all(id), []);
  });

  it('deletes an item and tells what stays; deletes a conversation with its items', async () => {
    const { id } = await conversations.create(OWNER, { items: [item('msg_1'), item('msg_2')], metadata: new Map() });
    assert.equal((await conversations.deleteItem(OWNER, id, 'msg_1')).id, id);
    assert.deepEqual(await all(id), ['msg_2']);
    await assert.rejects(conversations.deleteItem(OWNER, id, 'msg_1'), { kind: 'not-found' });
    await conversations.delete(OWNER, id);
    assert.deepEqual(await store.items.findMany(OWNER, ['msg_2']), new Map());
    await assert.rejects(conversations.delete(OWNER, id), { kind: 'not-found' });
  });

  it('counts its age from its last change', async () => {
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

  it('is not there for anybody else, whatever is asked of it', async () => {
    const { id } = await conversations.create(OWNER, { items: [item('msg_1')], metadata: new Map([['a', '1']]) });
    const page = { limit: 9, order: 'asc' } as const;
    const gone = { kind: 'not-found', message: `Conversation with id '${id}' not found.` };
    for (const stranger of STRANGERS) {
      await assert.rejects(conversations.find(stranger, id), gone);
      await assert.rejects(conversations.update(stranger, id, new Map()), gone);
      await assert.rejects(conversations.delete(stranger, id), gone);
      await assert.rejects(conversations.addItems(stranger, id, [item('msg_2')]), gone);
      await assert.rejects(conversations.listItems(stranger, id, page), gone);
      await assert.rejects(conversations.findItem(stranger, id, 'msg_1'), gone);
      await assert.rejects(conversations.deleteItem(stranger, id, 'msg_1'), gone);
    }
    assert.deepEqual((await conversations.find(OWNER, id)).metadata, new Map([['a', '1']]));
    assert.deepEqual(await all(id), ['msg_1']);
  });

  it('refuses an item of another conversation, and a page after one', async () => {
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

  it('shortens an id that is none, in what it says', async () => {
    await assert.rejects(conversations.find(OWNER, 'x'.repeat(5000)), ({ message }: Error) => message.length < 200);
  });
});
