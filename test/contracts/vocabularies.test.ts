import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Store } from '../../src/store/store.ts';
import type { VocabularyEntry, VocabularyRecord } from '../../src/store/vocabularies.ts';
import { describeOnDialects } from './__fixtures__/describe-on-dialects.ts';

/** A timestamp that does not fit into 32 bits. */
const NOW = 1_790_000_000_123;
const SCOPE = { region: 'cn-beijing', workspace: 'primary' } as const;
const STRANGERS = [
  { ...SCOPE, workspace: 'other' },
  { ...SCOPE, region: 'ap-southeast-1' },
] as const;
const ENTRIES: readonly VocabularyEntry[] = [
  { text: "O'Brien 密钥 🔑 \u0000 \ud800", weight: 1, lang: 'yue' },
  { text: '"\\', weight: 5 },
];

const createRecord = (id: string, change: Partial<VocabularyRecord> = {}): VocabularyRecord => ({
  ...SCOPE,
  id,
  prefix: 'a',
  targetModel: 'fun-asr',
  createdAt: NOW,
  modifiedAt: NOW,
  entries: ENTRIES,
  ...change,
});
const toSummary = ({ id, targetModel, createdAt, modifiedAt }: VocabularyRecord) => ({
  id,
  targetModel,
  createdAt,
  modifiedAt,
});

describeOnDialects('vocabularies in the store', ({ onOpen }) => {
  let store: Store;
  onOpen((opened) => void ({ store } = opened));

  const insertVocabulary = async (id: string, change: Partial<VocabularyRecord> = {}) => {
    await store.vocabularies.insert(createRecord(id, change));
    return createRecord(id, change);
  };
  const count = (scope: Parameters<Store['vocabularies']['lockCount']>[0]) =>
    store.transaction(({ vocabularies }) => vocabularies.lockCount(scope));

  it('returns a vocabulary unchanged, and replaces all its entries', async () => {
    const first = await insertVocabulary('vocab-a-1');
    assert.deepEqual(await store.vocabularies.find(SCOPE, first.id), first);
    const entries = [{ text: 'x', weight: 2 }];
    assert.equal(await store.vocabularies.replace(SCOPE, first.id, { entries, at: NOW + 1 }), true);
    assert.deepEqual(await store.vocabularies.find(SCOPE, first.id), { ...first, entries, modifiedAt: NOW + 1 });
    assert.equal(await store.vocabularies.remove(SCOPE, first.id), true);
    assert.equal(await store.vocabularies.remove(SCOPE, first.id), false);
    assert.equal(await store.vocabularies.find(SCOPE, first.id), undefined);
  });

  it('lists the newest first, without entries, page by page and by prefix, with a stable order for equal times', async () => {
    const scope = { ...SCOPE, workspace: 'lists' };
    const rows = [
      await insertVocabulary('vocab-a-1', scope),
      await insertVocabulary('vocab-a-9', { ...scope, modifiedAt: NOW + 9 }),
      await insertVocabulary('vocab-ab-2', { ...scope, prefix: 'ab', createdAt: NOW + 1 }),
      await insertVocabulary('vocab-b-3', { ...scope, prefix: 'b', createdAt: NOW + 2 }),
    ]
      .map(toSummary)
      .toReversed();
    const list = (query: object) => store.vocabularies.list(scope, { limit: 10, skip: 0, ...query });
    assert.deepEqual(await list({}), rows);
    assert.deepEqual(await list({ limit: 2, skip: 1 }), rows.slice(1, 3));
    assert.deepEqual(await list({ skip: 4 }), []);
    assert.deepEqual(await list({ prefix: 'a' }), rows.slice(2));
    assert.deepEqual(await list({ prefix: '\0' }), []);
  });

  it('shows, changes and removes nothing for another owner, and counts per owner', async () => {
    const scope = { ...SCOPE, workspace: 'owned' };
    const created = await insertVocabulary('vocab-a-owned', scope);
    for (const stranger of STRANGERS) {
      assert.equal(await store.vocabularies.find(stranger, created.id), undefined);
      const replacement = { entries: [], at: NOW + 1 };
      assert.equal(await store.vocabularies.replace(stranger, created.id, replacement), false);
      assert.equal(await store.vocabularies.remove(stranger, created.id), false);
      assert.deepEqual(await store.vocabularies.list(stranger, { limit: 10, skip: 0 }), []);
      assert.equal(await count(stranger), 0);
    }
    assert.deepEqual(await store.vocabularies.find(scope, created.id), created);
    assert.equal(await count(scope), 1);
  });

  it('finds no vocabulary by an id with a NUL character, and does not fail', async () => {
    await insertVocabulary('vocab-a-nul');
    for (const id of ['vocab-a-nul\0', '\0']) {
      assert.equal(await store.vocabularies.find(SCOPE, id), undefined);
      assert.equal(await store.vocabularies.replace(SCOPE, id, { entries: [], at: NOW }), false);
      assert.equal(await store.vocabularies.remove(SCOPE, id), false);
    }
  });

  it('allows no insertion between a count and the end of its transaction', async () => {
    const scope = { ...SCOPE, workspace: 'race' };
    const add = (at: number) =>
      store.transaction(async ({ vocabularies }) => {
        if ((await vocabularies.lockCount(scope)) >= 10) return false;
        await vocabularies.insert(createRecord(`vocab-a-race${at}`, scope));
        return true;
      });
    const added = await Promise.all(Array.from({ length: 20 }, (_, at) => add(at)));
    assert.equal(added.filter(Boolean).length, 10);
    assert.equal(await count(scope), 10);
  });
});
