import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Item } from '../../src/core/item.ts';
import type { ResponseRecord } from '../../src/store/responses.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { DIALECTS } from './__fixtures__/dialects.ts';

/** A time that no 32-bit column holds. */
const NOW = 1_790_000_000_123;
const PLACE = { region: 'cn-beijing', workspace: 'primary' } as const;
const STRANGERS = [
  { ...PLACE, workspace: 'other' },
  { ...PLACE, region: 'ap-southeast-1' },
] as const;

const item = (id: string, text = ''): Item => ({ id, json: JSON.stringify({ id, text }) });
const itemsOf = (prefix: string, count: number): readonly Item[] =>
  Array.from({ length: count }, (_, at) => item(`${prefix}_${String(at).padStart(5, '0')}`));
const idsOf = (items: readonly Item[] | undefined) => items?.map(({ id }) => id);
const PLENTY = { bytesMax: 1e9, itemsMax: 1e6 };

const response = (id: string, change: Partial<ResponseRecord> = {}): ResponseRecord => ({
  ...PLACE,
  id,
  createdAt: NOW,
  conversation: undefined,
  previous: undefined,
  itemCount: 2,
  itemBytes: 70,
  json: '{}',
  ...change,
});

for (const { name, dialect } of DIALECTS) {
  describe(`conversations in the store on ${name}`, () => {
    let folder = '';
    let store: Store;
    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'parley-store-'));
      store = await openStore({ dialect: dialect(folder) });
    });
    after(async () => {
      await store.close();
      await rm(folder, { recursive: true });
    });

    const made = async (id: string, change = {}) => {
      const record = { ...PLACE, id, createdAt: NOW, metadata: new Map(), ...change };
      await store.conversations.insert(record, { nextPosition: 0 });
      return record;
    };
    /** As the service adds: positions first, then the items there. */
    const add = (id: string, items: readonly Item[]) =>
      store.transaction(async ({ conversations, items: rows }) => {
        const extended = await conversations.extend(PLACE, id, items.length, NOW);
        await rows.insert({ ...PLACE, container: id }, items, { position: extended?.first ?? NaN });
      });

    it('gives back a conversation as it was put in, whatever its metadata', async () => {
      const metadata = new Map([
        ['__proto__', 'yes'],
        ['constructor', "O'Brien 密钥 🔑 \u0000 \ud800"],
        ['', ''],
      ]);
      const record = await made('conv_roundtrip', { metadata });
      assert.deepEqual(await store.conversations.find(PLACE, record.id), record);
      const changed = await store.conversations.setMetadata(PLACE, record.id, new Map(), NOW);
      assert.deepEqual(changed, { ...record, metadata: new Map() });
    });

    it('shows, changes and removes nothing for another owner', async () => {
      await made('conv_foreign');
      await add('conv_foreign', [item('msg_foreign')]);
      await store.responses.insert(response('resp_foreign'));
      for (const stranger of STRANGERS) {
        const where = { ...stranger, container: 'conv_foreign' };
        const { conversations, items, responses } = store;
        assert.equal(await conversations.find(stranger, 'conv_foreign'), undefined);
        assert.equal(await conversations.setMetadata(stranger, 'conv_foreign', new Map([['a', 'b']]), 1), undefined);
        assert.equal(await conversations.extend(stranger, 'conv_foreign', 1, 1), undefined);
        const wish = { turn: 't', until: NOW + 1, now: NOW };
        assert.equal(await conversations.takeTurn(stranger, 'conv_foreign', wish), false);
        assert.equal(await conversations.remove(stranger, 'conv_foreign'), false);
        assert.equal(await items.find(where, 'msg_foreign'), undefined);
        assert.deepEqual(await items.findMany(stranger, ['msg_foreign']), new Map());
        assert.deepEqual(await items.sizes(stranger, ['msg_foreign']), new Map());
        assert.deepEqual(await items.page(where, { limit: 9, order: 'asc', ...PLENTY }), { items: [], hasMore: false });
        assert.deepEqual(await items.tail(where, PLENTY), { items: [], older: 0 });
        assert.deepEqual(await items.all(stranger, ['conv_foreign']), []);
        assert.equal(await items.count(where, 9), 0);
        assert.equal(await items.remove(where, 'msg_foreign'), false);
        await items.clear(where);
        assert.equal(await responses.find(stranger, 'resp_foreign'), undefined);
        assert.deepEqual(await responses.chain(stranger, 'resp_foreign', 9), []);
        assert.equal(await responses.remove(stranger, 'resp_foreign'), false);
      }
      assert.deepEqual((await store.conversations.find(PLACE, 'conv_foreign'))?.metadata, new Map());
      assert.deepEqual(idsOf((await store.items.tail({ ...PLACE, container: 'conv_foreign' }, PLENTY)).items), [
        'msg_foreign',
      ]);
      assert.ok(await store.responses.find(PLACE, 'resp_foreign'));
    });

    it('knows no conversation, response or item whose id has a NUL in it, and fails for none', async () => {
      await made('conv_nul');
      await add('conv_nul', [item('msg_nul')]);
      const { conversations, items, responses } = store;
      for (const id of ['conv_nul\0', '\0', 'conv\0nul']) {
        assert.equal(await conversations.find(PLACE, id), undefined);
        assert.equal(await conversations.findAnywhere(id), undefined);
        assert.equal(await conversations.setMetadata(PLACE, id, new Map(), 1), undefined);
        assert.equal(await conversations.extend(PLACE, id, 1, 1), undefined);
        const wish = { turn: 't', until: NOW + 1, now: NOW };
        assert.equal(await conversations.takeTurn(PLACE, id, wish), false);
        assert.equal(await conversations.remove(PLACE, id), false);
        await conversations.list({ after: id, limit: 1 });
        const where = { ...PLACE, container: 'conv_nul' };
        assert.equal(await items.find(where, id), undefined);
        assert.equal(await items.remove(where, id), false);
        assert.equal(await items.page(where, { after: id, limit: 9, order: 'asc', ...PLENTY }), undefined);
        assert.deepEqual(idsOf([...(await items.findMany(PLACE, [id, 'msg_nul'])).values()]), ['msg_nul']);
        assert.deepEqual(idsOf(await items.all(PLACE, [id, 'conv_nul'])), ['msg_nul']);
        assert.equal(await items.count({ ...PLACE, container: id }, 9), 0);
        assert.equal(await responses.find(PLACE, id), undefined);
        assert.deepEqual(await responses.chain(PLACE, id, 9), []);
        assert.deepEqual(await responses.listOfConversation(id, { after: id, limit: 9 }), []);
        assert.equal(await responses.remove(PLACE, id), false);
      }
      const found = await store.transaction(async (tables) => [
        await tables.conversations.find(PLACE, '\0'),
        (await tables.conversations.find(PLACE, 'conv_nul'))?.id,
      ]);
      assert.deepEqual(found, [undefined, 'conv_nul']);
    });

    it('gives every position out once, to several callers at once', async () => {
      await made('conv_race');
      const callers = Array.from({ length: 8 }, (_, at) => itemsOf(`msg_r${at}`, 7));
      await Promise.all(callers.map((items) => add('conv_race', items)));
      const { items } = await store.items.tail({ ...PLACE, container: 'conv_race' }, PLENTY);
      assert.equal(items.length, 56);
      for (const own of callers) {
        const [first] = own;
        const at = items.findIndex(({ id }) => id === first?.id);
        assert.deepEqual(items.slice(at, at + own.length), own, 'the items of one caller stand together');
      }
    });

    it('pages through items both ways, over gaps, each item once', async () => {
      await made('conv_pages');
      const all = itemsOf('msg_p', 47);
      await add('conv_pages', all);
      const where = { ...PLACE, container: 'conv_pages' };
      for (const gone of [0, 10, 11, 46]) assert.ok(await store.items.remove(where, all[gone]?.id ?? ''));
      const left = idsOf(all.filter((_, at) => ![0, 10, 11, 46].includes(at))) ?? [];
      for (const order of ['asc', 'desc'] as const) {
        for (const limit of [1, 7, 43, 100]) {
          const seen: string[] = [];
          for (let hasMore = true; hasMore;) {
            const page = await store.items.page(where, { limit, order, after: seen.at(-1), ...PLENTY });
            assert.ok(page && page.items.length <= limit && (page.items.length > 0 || !page.hasMore));
            seen.push(...(idsOf(page.items) ?? []));
            ({ hasMore } = page);
          }
          assert.deepEqual(seen, order === 'asc' ? left : left.toReversed(), `${order} by ${limit}`);
        }
      }
      assert.equal(
        await store.items.page(where, { limit: 1, order: 'asc', after: 'msg_nobody', ...PLENTY }),
        undefined,
      );
    });

    it('ends a page and a tail before they grow too large, but a page never before its first item', async () => {
      await made('conv_large');
      await add(
        'conv_large',
        ['a', 'b', 'c', 'd'].map((id) => item(`msg_${id}`, 'é'.repeat(100))),
      );
      const where = { ...PLACE, container: 'conv_large' };
      const bytes = Buffer.byteLength(item('msg_a', 'é'.repeat(100)).json);
      const page = (bytesMax: number) => store.items.page(where, { limit: 9, order: 'desc', bytesMax });
      assert.deepEqual(idsOf((await page(2 * bytes))?.items), ['msg_d', 'msg_c']);
      assert.equal((await page(2 * bytes))?.hasMore, true);
      assert.deepEqual(idsOf((await page(1))?.items), ['msg_d']);
      assert.deepEqual(idsOf((await page(4 * bytes))?.items)?.length, 4);
      assert.equal((await page(4 * bytes))?.hasMore, false);
      const tail = (bytesMax: number, itemsMax = 9) => store.items.tail(where, { itemsMax, bytesMax });
      assert.deepEqual(idsOf((await tail(3 * bytes)).items), ['msg_b', 'msg_c', 'msg_d']);
      assert.equal((await tail(3 * bytes)).older, 1);
      assert.deepEqual(await tail(1), { items: [], older: 4 });
      assert.equal((await tail(1e9, 3)).older, 1);
      assert.equal((await tail(1e9, 4)).older, 0);
      const before = await store.items.tail(where, { itemsMax: 1, bytesMax: 1e9, before: 2 });
      assert.deepEqual([idsOf(before.items), before.older], [['msg_b'], 1]);
    });

    it('tells the two sides of a response apart, and finds items by id in any container', async () => {
      const own = { ...PLACE, container: 'resp_sides' };
      await store.items.insert(own, itemsOf('msg_in', 3), { position: 0, side: 'input' });
      await store.items.insert(own, itemsOf('msg_out', 2), { position: 3, side: 'output' });
      const input = await store.items.page(own, { limit: 9, order: 'desc', side: 'input', ...PLENTY });
      assert.deepEqual(idsOf(input?.items), ['msg_in_00002', 'msg_in_00001', 'msg_in_00000']);
      const wish = { limit: 9, order: 'asc', side: 'input', ...PLENTY } as const;
      assert.equal(await store.items.page(own, { ...wish, after: 'msg_out_00000' }), undefined);
      await made('conv_sides');
      await add('conv_sides', itemsOf('msg_in', 1));
      const many = [...Array.from({ length: 450 }, (_, at) => `msg_none_${at}`), 'msg_in_00000', 'msg_out_00001'];
      assert.deepEqual([...(await store.items.findMany(PLACE, many)).keys()].toSorted(), [
        'msg_in_00000',
        'msg_out_00001',
      ]);
      const { json } = item('msg_in_00000');
      assert.deepEqual(await store.items.sizes(PLACE, many.slice(0, 451)), new Map([['msg_in_00000', json.length]]));
      assert.deepEqual(idsOf(await store.items.all(PLACE, ['resp_sides', 'conv_sides', 'nobody'])), [
        'msg_in_00000',
        'msg_in_00001',
        'msg_in_00002',
        'msg_out_00000',
        'msg_out_00001',
        'msg_in_00000',
      ]);
    });

    it('gives a conversation to one answer at a time, and to the next when that is silent', async () => {
      const { conversations } = store;
      await made('conv_turn');
      const take = (turn: string, now: number) =>
        conversations.takeTurn(PLACE, 'conv_turn', { turn, until: now + 10, now });
      const taken = await Promise.all(['a', 'b', 'c'].map((turn) => take(turn, NOW)));
      assert.equal(taken.filter(Boolean).length, 1);
      const first = ['a', 'b', 'c'][taken.indexOf(true)] ?? '';
      assert.equal(await conversations.turnUntil(PLACE, 'conv_turn'), NOW + 10);
      assert.ok(await conversations.renewTurn(PLACE, 'conv_turn', { turn: first, until: NOW + 20 }));
      assert.equal(await take('late', NOW + 19), false);
      assert.ok(await take('next', NOW + 20));
      assert.equal(await conversations.renewTurn(PLACE, 'conv_turn', { turn: first, until: NOW + 99 }), false);
      assert.equal(await conversations.releaseTurn(PLACE, 'conv_turn', first), false);
      const finish = (turn: string) => conversations.finishTurn(PLACE, 'conv_turn', { turn, count: 2, at: NOW });
      assert.equal(await finish(first), undefined);
      assert.equal((await finish('next'))?.first, 0);
      assert.equal(await finish('next'), undefined);
      assert.ok(await take('then', NOW));
      assert.ok(await conversations.releaseTurn(PLACE, 'conv_turn', 'then'));
      assert.equal(await conversations.turnUntil(PLACE, 'conv_turn'), undefined);
    });

    it('does not keep a conversation until the time of a clock that was set back', async () => {
      const { conversations } = store;
      await made('conv_clock');
      const take = (turn: string, now: number) =>
        conversations.takeTurn(PLACE, 'conv_clock', { turn, until: now + 10, now });
      assert.ok(await take('before', NOW));
      assert.equal(await take('a', NOW - 10), false);
      assert.ok(await take('b', NOW - 11));
      assert.equal(await conversations.renewTurn(PLACE, 'conv_clock', { turn: 'before', until: NOW }), false);
    });

    it('follows a chain of responses as far as it is allowed to, and never round in a circle', async () => {
      for (let at = 0; at < 30; at++) {
        await store.responses.insert(response(`resp_c${at}`, at === 0 ? {} : { previous: `resp_c${at - 1}` }));
      }
      const chain = await store.responses.chain(PLACE, 'resp_c29', 100);
      assert.deepEqual(
        chain.map(({ id }) => id),
        Array.from({ length: 30 }, (_, at) => `resp_c${29 - at}`),
      );
      assert.equal((await store.responses.chain(PLACE, 'resp_c29', 5)).length, 5);
      await store.responses.remove(PLACE, 'resp_c10');
      const broken = await store.responses.chain(PLACE, 'resp_c29', 100);
      assert.equal(broken.at(-1)?.previous, 'resp_c10');
      await store.responses.insert(response('resp_c10', { previous: 'resp_c29' }));
      assert.equal((await store.responses.chain(PLACE, 'resp_c29', 100)).length, 100);
    });

    it('does not follow a chain into what is another owner’s', async () => {
      await store.responses.insert(response('resp_theirs', { workspace: 'other' }));
      await store.responses.insert(response('resp_abroad', { region: 'us-east-1' }));
      for (const previous of ['resp_theirs', 'resp_abroad']) {
        await store.responses.insert(response(`resp_on_${previous}`, { previous }));
        const chain = await store.responses.chain(PLACE, `resp_on_${previous}`, 9);
        assert.deepEqual(
          chain.map(({ id }) => id),
          [`resp_on_${previous}`],
        );
      }
    });

    it('gives back a response as it was put in', async () => {
      const record = response('resp_roundtrip', {
        conversation: { id: 'conv_x', from: 2 ** 40 },
        previous: 'resp_before',
        json: '{"text":"密钥 🔑"}',
      });
      await store.responses.insert(record);
      assert.deepEqual(await store.responses.find(PLACE, record.id), record);
    });

    it('lists for the operator by owner, by conversation and by age', async () => {
      const { conversations, responses } = store;
      const place = { region: 'us-east-1', workspace: 'list' } as const;
      for (const [id, createdAt] of [
        ['conv_l3', 300],
        ['conv_l1', 200],
        ['conv_l2', 100],
      ] as const) {
        await made(id, { ...place, createdAt });
        await responses.insert(response(`resp_${id}`, { ...place, createdAt, conversation: { id, from: 0 } }));
      }
      await made('conv_l4', { ...place, workspace: 'elsewhere' });
      const ids = (records: readonly { id: string }[]) => records.map(({ id }) => id);
      assert.deepEqual(ids(await conversations.list({ ...place, limit: 2 })), ['conv_l1', 'conv_l2']);
      assert.deepEqual(ids(await conversations.list({ ...place, after: 'conv_l2', limit: 2 })), ['conv_l3']);
      assert.equal((await conversations.findAnywhere('conv_l1'))?.workspace, 'list');
      for (const id of ['resp_c', 'resp_a', 'resp_b']) {
        await responses.insert(response(id, { ...place, createdAt: 900, conversation: { id: 'conv_l1', from: 2 } }));
      }
      const ofOne = (after?: string) => responses.listOfConversation('conv_l1', { after, limit: 2 });
      assert.deepEqual(ids(await ofOne()), ['resp_a', 'resp_b']);
      assert.deepEqual(ids(await ofOne('resp_b')), ['resp_c', 'resp_conv_l1']);
      assert.deepEqual(ids(await responses.list({ ...place, after: 'resp_conv_l1', limit: 1 })), ['resp_conv_l2']);
      assert.deepEqual(ids(await responses.listOlder({ before: 300, limit: 9 })), ['resp_conv_l2', 'resp_conv_l1']);
      const old = { before: 300, now: 1000, limit: 9 };
      assert.deepEqual(ids(await conversations.listUnchanged(old)), ['conv_l2', 'conv_l1']);
      await conversations.takeTurn(place, 'conv_l1', { turn: 't', until: 1001, now: 1000 });
      await conversations.setMetadata(place, 'conv_l2', new Map(), 300);
      assert.deepEqual(ids(await conversations.listUnchanged(old)), []);
      assert.equal(await conversations.removeUnchanged(place, 'conv_l2', 300), false);
      assert.equal(await conversations.removeUnchanged(place, 'conv_l2', 301), true);
    });
  });
}
