import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Item } from '../../src/core/item.ts';
import type { ResponseRecord } from '../../src/store/responses.ts';
import type { Store } from '../../src/store/store.ts';
import { describeOnDialects } from './__fixtures__/describe-on-dialects.ts';

/** A timestamp that does not fit into 32 bits. */
const NOW = 1_790_000_000_123;
const SCOPE = { region: 'cn-beijing', workspace: 'primary' } as const;
const STRANGERS = [
  { ...SCOPE, workspace: 'other' },
  { ...SCOPE, region: 'ap-southeast-1' },
] as const;

const createItem = (id: string, text = ''): Item => ({ id, json: JSON.stringify({ id, text }) });
const createItems = (prefix: string, count: number): readonly Item[] =>
  Array.from({ length: count }, (_, at) => createItem(`${prefix}_${String(at).padStart(5, '0')}`));
const getIds = (items: readonly Item[] | undefined) => items?.map(({ id }) => id);
const LARGE_LIMITS = { bytesMax: 1e9, itemsMax: 1e6 };

const createResponse = (id: string, change: Partial<ResponseRecord> = {}): ResponseRecord => ({
  ...SCOPE,
  id,
  createdAt: NOW,
  conversation: undefined,
  previous: undefined,
  itemCount: 2,
  itemBytes: 70,
  json: '{}',
  ...change,
});

describeOnDialects('conversations in the store', ({ onOpen }) => {
  let store: Store;
  onOpen((opened) => void ({ store } = opened));

  const insertConversation = async (id: string, change = {}) => {
    const record = { ...SCOPE, id, createdAt: NOW, metadata: new Map(), ...change };
    await store.conversations.insert(record, { nextPosition: 0 });
    return record;
  };
  /** Adds items as the service does: reserves positions first, then inserts the items there. */
  const addItems = (id: string, items: readonly Item[]) =>
    store.transaction(async ({ conversations, items: rows }) => {
      const extended = await conversations.extend(SCOPE, id, items.length, NOW);
      await rows.insert({ ...SCOPE, container: id }, items, { position: extended?.first ?? NaN });
    });

  it('returns a conversation unchanged, with any metadata', async () => {
    const metadata = new Map([
      ['__proto__', 'yes'],
      ['constructor', "O'Brien 密钥 🔑 \u0000 \ud800"],
      ['', ''],
    ]);
    const record = await insertConversation('conv_roundtrip', { metadata });
    assert.deepEqual(await store.conversations.find(SCOPE, record.id), record);
    const changed = await store.conversations.setMetadata(SCOPE, record.id, new Map(), NOW);
    assert.deepEqual(changed, { ...record, metadata: new Map() });
  });

  it('shows, changes and removes nothing for another owner', async () => {
    await insertConversation('conv_foreign');
    await addItems('conv_foreign', [createItem('msg_foreign')]);
    await store.responses.insert(createResponse('resp_foreign'));
    for (const stranger of STRANGERS) {
      const containerScope = { ...stranger, container: 'conv_foreign' };
      const { conversations, items, responses } = store;
      assert.equal(await conversations.find(stranger, 'conv_foreign'), undefined);
      assert.equal(await conversations.setMetadata(stranger, 'conv_foreign', new Map([['a', 'b']]), 1), undefined);
      assert.equal(await conversations.extend(stranger, 'conv_foreign', 1, 1), undefined);
      const lease = { turn: 't', until: NOW + 1, now: NOW };
      assert.equal(await conversations.acquireTurnLease(stranger, 'conv_foreign', lease), false);
      assert.equal(await conversations.remove(stranger, 'conv_foreign'), false);
      assert.equal(await items.find(containerScope, 'msg_foreign'), undefined);
      assert.deepEqual(await items.findMany(stranger, ['msg_foreign']), new Map());
      assert.deepEqual(await items.findSizes(stranger, ['msg_foreign']), new Map());
      assert.deepEqual(await items.readPage(containerScope, { limit: 9, order: 'asc', ...LARGE_LIMITS }), {
        items: [],
        hasMore: false,
      });
      assert.deepEqual(await items.readTail(containerScope, LARGE_LIMITS), { items: [], older: 0 });
      assert.deepEqual(await items.listAll(stranger, ['conv_foreign']), []);
      assert.equal(await items.countBefore(containerScope, 9), 0);
      assert.equal(await items.remove(containerScope, 'msg_foreign'), false);
      await items.clear(containerScope);
      assert.equal(await responses.find(stranger, 'resp_foreign'), undefined);
      assert.deepEqual(await responses.listChain(stranger, 'resp_foreign', 9), []);
      assert.equal(await responses.remove(stranger, 'resp_foreign'), false);
    }
    assert.deepEqual((await store.conversations.find(SCOPE, 'conv_foreign'))?.metadata, new Map());
    assert.deepEqual(
      getIds((await store.items.readTail({ ...SCOPE, container: 'conv_foreign' }, LARGE_LIMITS)).items),
      ['msg_foreign'],
    );
    assert.ok(await store.responses.find(SCOPE, 'resp_foreign'));
  });

  it('finds no conversation, response or item by an id with a NUL character, and does not fail', async () => {
    await insertConversation('conv_nul');
    await addItems('conv_nul', [createItem('msg_nul')]);
    const { conversations, items, responses } = store;
    for (const id of ['conv_nul\0', '\0', 'conv\0nul']) {
      assert.equal(await conversations.find(SCOPE, id), undefined);
      assert.equal(await conversations.findInAnyTenant(id), undefined);
      assert.equal(await conversations.setMetadata(SCOPE, id, new Map(), 1), undefined);
      assert.equal(await conversations.extend(SCOPE, id, 1, 1), undefined);
      const lease = { turn: 't', until: NOW + 1, now: NOW };
      assert.equal(await conversations.acquireTurnLease(SCOPE, id, lease), false);
      assert.equal(await conversations.remove(SCOPE, id), false);
      await conversations.list({ after: id, limit: 1 });
      const containerScope = { ...SCOPE, container: 'conv_nul' };
      assert.equal(await items.find(containerScope, id), undefined);
      assert.equal(await items.remove(containerScope, id), false);
      assert.equal(
        await items.readPage(containerScope, { after: id, limit: 9, order: 'asc', ...LARGE_LIMITS }),
        undefined,
      );
      assert.deepEqual(getIds([...(await items.findMany(SCOPE, [id, 'msg_nul'])).values()]), ['msg_nul']);
      assert.deepEqual(getIds(await items.listAll(SCOPE, [id, 'conv_nul'])), ['msg_nul']);
      assert.equal(await items.countBefore({ ...SCOPE, container: id }, 9), 0);
      assert.equal(await responses.find(SCOPE, id), undefined);
      assert.deepEqual(await responses.listChain(SCOPE, id, 9), []);
      assert.deepEqual(await responses.listByConversation(id, { after: id, limit: 9 }), []);
      assert.equal(await responses.remove(SCOPE, id), false);
    }
    const found = await store.transaction(async (tables) => [
      await tables.conversations.find(SCOPE, '\0'),
      (await tables.conversations.find(SCOPE, 'conv_nul'))?.id,
    ]);
    assert.deepEqual(found, [undefined, 'conv_nul']);
  });

  it('assigns every position once, also to concurrent callers', async () => {
    await insertConversation('conv_race');
    const callers = Array.from({ length: 8 }, (_, at) => createItems(`msg_r${at}`, 7));
    await Promise.all(callers.map((items) => addItems('conv_race', items)));
    const { items } = await store.items.readTail({ ...SCOPE, container: 'conv_race' }, LARGE_LIMITS);
    assert.equal(items.length, 56);
    for (const callerItems of callers) {
      const [first] = callerItems;
      const at = items.findIndex(({ id }) => id === first?.id);
      assert.deepEqual(items.slice(at, at + callerItems.length), callerItems, 'the items of one caller are contiguous');
    }
  });

  it('pages through items in both orders, across gaps, each item once', async () => {
    await insertConversation('conv_pages');
    const all = createItems('msg_p', 47);
    await addItems('conv_pages', all);
    const containerScope = { ...SCOPE, container: 'conv_pages' };
    for (const removedIndex of [0, 10, 11, 46])
      assert.ok(await store.items.remove(containerScope, all[removedIndex]?.id ?? ''));
    const remainingIds = getIds(all.filter((_, at) => ![0, 10, 11, 46].includes(at))) ?? [];
    for (const order of ['asc', 'desc'] as const) {
      for (const limit of [1, 7, 43, 100]) {
        const seen: string[] = [];
        for (let hasMore = true; hasMore;) {
          const page = await store.items.readPage(containerScope, {
            limit,
            order,
            after: seen.at(-1),
            ...LARGE_LIMITS,
          });
          assert.ok(page && page.items.length <= limit && (page.items.length > 0 || !page.hasMore));
          seen.push(...(getIds(page.items) ?? []));
          ({ hasMore } = page);
        }
        assert.deepEqual(seen, order === 'asc' ? remainingIds : remainingIds.toReversed(), `${order} by ${limit}`);
      }
    }
    assert.equal(
      await store.items.readPage(containerScope, { limit: 1, order: 'asc', after: 'msg_nobody', ...LARGE_LIMITS }),
      undefined,
    );
  });

  it('limits the bytes of a page and a tail, but returns at least one item per page', async () => {
    await insertConversation('conv_large');
    await addItems(
      'conv_large',
      ['a', 'b', 'c', 'd'].map((id) => createItem(`msg_${id}`, 'é'.repeat(100))),
    );
    const containerScope = { ...SCOPE, container: 'conv_large' };
    const bytes = Buffer.byteLength(createItem('msg_a', 'é'.repeat(100)).json);
    const page = (bytesMax: number) => store.items.readPage(containerScope, { limit: 9, order: 'desc', bytesMax });
    assert.deepEqual(getIds((await page(2 * bytes))?.items), ['msg_d', 'msg_c']);
    assert.equal((await page(2 * bytes))?.hasMore, true);
    assert.deepEqual(getIds((await page(1))?.items), ['msg_d']);
    assert.deepEqual(getIds((await page(4 * bytes))?.items)?.length, 4);
    assert.equal((await page(4 * bytes))?.hasMore, false);
    const tail = (bytesMax: number, itemsMax = 9) => store.items.readTail(containerScope, { itemsMax, bytesMax });
    assert.deepEqual(getIds((await tail(3 * bytes)).items), ['msg_b', 'msg_c', 'msg_d']);
    assert.equal((await tail(3 * bytes)).older, 1);
    assert.deepEqual(await tail(1), { items: [], older: 4 });
    assert.equal((await tail(1e9, 3)).older, 1);
    assert.equal((await tail(1e9, 4)).older, 0);
    const before = await store.items.readTail(containerScope, { itemsMax: 1, bytesMax: 1e9, before: 2 });
    assert.deepEqual([getIds(before.items), before.older], [['msg_b'], 1]);
  });

  it('separates the input and the output of a response, and finds items by id in any container', async () => {
    const containerScope = { ...SCOPE, container: 'resp_sides' };
    await store.items.insert(containerScope, createItems('msg_in', 3), { position: 0, side: 'input' });
    await store.items.insert(containerScope, createItems('msg_out', 2), { position: 3, side: 'output' });
    const input = await store.items.readPage(containerScope, {
      limit: 9,
      order: 'desc',
      side: 'input',
      ...LARGE_LIMITS,
    });
    assert.deepEqual(getIds(input?.items), ['msg_in_00002', 'msg_in_00001', 'msg_in_00000']);
    const query = { limit: 9, order: 'asc', side: 'input', ...LARGE_LIMITS } as const;
    assert.equal(await store.items.readPage(containerScope, { ...query, after: 'msg_out_00000' }), undefined);
    await insertConversation('conv_sides');
    await addItems('conv_sides', createItems('msg_in', 1));
    const many = [...Array.from({ length: 450 }, (_, at) => `msg_none_${at}`), 'msg_in_00000', 'msg_out_00001'];
    assert.deepEqual([...(await store.items.findMany(SCOPE, many)).keys()].toSorted(), [
      'msg_in_00000',
      'msg_out_00001',
    ]);
    const { json } = createItem('msg_in_00000');
    assert.deepEqual(await store.items.findSizes(SCOPE, many.slice(0, 451)), new Map([['msg_in_00000', json.length]]));
    assert.deepEqual(getIds(await store.items.listAll(SCOPE, ['resp_sides', 'conv_sides', 'nobody'])), [
      'msg_in_00000',
      'msg_in_00001',
      'msg_in_00002',
      'msg_out_00000',
      'msg_out_00001',
      'msg_in_00000',
    ]);
  });

  it('grants the turn lease to one turn at a time, and to the next when the lease expires', async () => {
    const { conversations } = store;
    await insertConversation('conv_turn');
    const acquire = (turn: string, now: number) =>
      conversations.acquireTurnLease(SCOPE, 'conv_turn', { turn, until: now + 10, now });
    const acquired = await Promise.all(['a', 'b', 'c'].map((turn) => acquire(turn, NOW)));
    assert.equal(acquired.filter(Boolean).length, 1);
    const first = ['a', 'b', 'c'][acquired.indexOf(true)] ?? '';
    assert.equal(await conversations.getTurnLeaseUntil(SCOPE, 'conv_turn'), NOW + 10);
    assert.ok(await conversations.renewTurnLease(SCOPE, 'conv_turn', { turn: first, until: NOW + 20 }));
    assert.equal(await acquire('late', NOW + 19), false);
    assert.ok(await acquire('next', NOW + 20));
    assert.equal(await conversations.renewTurnLease(SCOPE, 'conv_turn', { turn: first, until: NOW + 99 }), false);
    assert.equal(await conversations.releaseTurnLease(SCOPE, 'conv_turn', first), false);
    const finish = (turn: string) => conversations.finishTurn(SCOPE, 'conv_turn', { turn, count: 2, at: NOW });
    assert.equal(await finish(first), undefined);
    assert.equal((await finish('next'))?.first, 0);
    assert.equal(await finish('next'), undefined);
    assert.ok(await acquire('then', NOW));
    assert.ok(await conversations.releaseTurnLease(SCOPE, 'conv_turn', 'then'));
    assert.equal(await conversations.getTurnLeaseUntil(SCOPE, 'conv_turn'), undefined);
  });

  it('ignores a lease that ends too far in the future because the clock was set back', async () => {
    const { conversations } = store;
    await insertConversation('conv_clock');
    const acquire = (turn: string, now: number) =>
      conversations.acquireTurnLease(SCOPE, 'conv_clock', { turn, until: now + 10, now });
    assert.ok(await acquire('before', NOW));
    assert.equal(await acquire('a', NOW - 10), false);
    assert.ok(await acquire('b', NOW - 11));
    assert.equal(await conversations.renewTurnLease(SCOPE, 'conv_clock', { turn: 'before', until: NOW }), false);
  });

  it('follows a chain of responses up to the limit, also when the chain is a cycle', async () => {
    for (let at = 0; at < 30; at++) {
      await store.responses.insert(createResponse(`resp_c${at}`, at === 0 ? {} : { previous: `resp_c${at - 1}` }));
    }
    const chain = await store.responses.listChain(SCOPE, 'resp_c29', 100);
    assert.deepEqual(
      chain.map(({ id }) => id),
      Array.from({ length: 30 }, (_, at) => `resp_c${29 - at}`),
    );
    assert.equal((await store.responses.listChain(SCOPE, 'resp_c29', 5)).length, 5);
    await store.responses.remove(SCOPE, 'resp_c10');
    const broken = await store.responses.listChain(SCOPE, 'resp_c29', 100);
    assert.equal(broken.at(-1)?.previous, 'resp_c10');
    await store.responses.insert(createResponse('resp_c10', { previous: 'resp_c29' }));
    assert.equal((await store.responses.listChain(SCOPE, 'resp_c29', 100)).length, 100);
  });

  it('does not follow a chain to a response of another owner', async () => {
    await store.responses.insert(createResponse('resp_theirs', { workspace: 'other' }));
    await store.responses.insert(createResponse('resp_abroad', { region: 'us-east-1' }));
    for (const previous of ['resp_theirs', 'resp_abroad']) {
      await store.responses.insert(createResponse(`resp_on_${previous}`, { previous }));
      const chain = await store.responses.listChain(SCOPE, `resp_on_${previous}`, 9);
      assert.deepEqual(
        chain.map(({ id }) => id),
        [`resp_on_${previous}`],
      );
    }
  });

  it('returns a response unchanged', async () => {
    const record = createResponse('resp_roundtrip', {
      conversation: { id: 'conv_x', from: 2 ** 40 },
      previous: 'resp_before',
      json: '{"text":"密钥 🔑"}',
    });
    await store.responses.insert(record);
    assert.deepEqual(await store.responses.find(SCOPE, record.id), record);
  });

  it('lists for the operator by owner, by conversation and by age', async () => {
    const { conversations, responses } = store;
    const scope = { region: 'us-east-1', workspace: 'list' } as const;
    for (const [id, createdAt] of [
      ['conv_l3', 300],
      ['conv_l1', 200],
      ['conv_l2', 100],
    ] as const) {
      await insertConversation(id, { ...scope, createdAt });
      await responses.insert(createResponse(`resp_${id}`, { ...scope, createdAt, conversation: { id, from: 0 } }));
    }
    await insertConversation('conv_l4', { ...scope, workspace: 'elsewhere' });
    const ids = (records: readonly { id: string }[]) => records.map(({ id }) => id);
    assert.deepEqual(ids(await conversations.list({ ...scope, limit: 2 })), ['conv_l1', 'conv_l2']);
    assert.deepEqual(ids(await conversations.list({ ...scope, after: 'conv_l2', limit: 2 })), ['conv_l3']);
    assert.equal((await conversations.findInAnyTenant('conv_l1'))?.workspace, 'list');
    for (const id of ['resp_c', 'resp_a', 'resp_b']) {
      await responses.insert(
        createResponse(id, { ...scope, createdAt: 900, conversation: { id: 'conv_l1', from: 2 } }),
      );
    }
    const listOne = (after?: string) => responses.listByConversation('conv_l1', { after, limit: 2 });
    assert.deepEqual(ids(await listOne()), ['resp_a', 'resp_b']);
    assert.deepEqual(ids(await listOne('resp_b')), ['resp_c', 'resp_conv_l1']);
    assert.deepEqual(ids(await responses.list({ ...scope, after: 'resp_conv_l1', limit: 1 })), ['resp_conv_l2']);
    assert.deepEqual(ids(await responses.listUnneededBefore({ before: 300, limit: 9 })), [
      'resp_conv_l2',
      'resp_conv_l1',
    ]);
    // A later response keeps those before it.
    const link = createResponse('resp_later', { ...scope, createdAt: 950, previous: 'resp_conv_l1' });
    await responses.insert(link);
    assert.deepEqual(ids(await responses.listUnneededBefore({ before: 300, limit: 9 })), ['resp_conv_l2']);
    await responses.remove(scope, 'resp_later');
    assert.equal((await responses.listUnneededBefore({ before: 300, limit: 9 })).length, 2);
    const old = { before: 300, now: 1000, limit: 9 };
    assert.deepEqual(ids(await conversations.listUnchanged(old)), ['conv_l2', 'conv_l1']);
    await conversations.acquireTurnLease(scope, 'conv_l1', { turn: 't', until: 1001, now: 1000 });
    await conversations.setMetadata(scope, 'conv_l2', new Map(), 300);
    assert.deepEqual(ids(await conversations.listUnchanged(old)), []);
    assert.equal(await conversations.removeUnchanged(scope, 'conv_l2', 300), false);
    assert.equal(await conversations.removeUnchanged(scope, 'conv_l2', 301), true);
  });
});
