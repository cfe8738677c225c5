import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { openStore, type Store } from '../../src/store/store.ts';
import type { VocabularyEntry, VocabularyRecord } from '../../src/store/vocabularies.ts';
import { DIALECTS } from './__fixtures__/dialects.ts';

/** A time that no 32-bit column holds. */
const NOW = 1_790_000_000_123;
const PLACE = { region: 'cn-beijing', workspace: 'primary' } as const;
const STRANGERS = [
  { ...PLACE, workspace: 'other' },
  { ...PLACE, region: 'ap-southeast-1' },
] as const;
const ENTRIES: readonly VocabularyEntry[] = [
  { text: "O'Brien 密钥 🔑 \u0000 \ud800", weight: 1, lang: 'yue' },
  { text: '"\\', weight: 5 },
];

const record = (id: string, change: Partial<VocabularyRecord> = {}): VocabularyRecord => ({
  ...PLACE,
  id,
  prefix: 'a',
  targetModel: 'fun-asr',
  createdAt: NOW,
  modifiedAt: NOW,
  entries: ENTRIES,
  ...change,
});
const headOf = ({ id, targetModel, createdAt, modifiedAt }: VocabularyRecord) => ({
  id,
  targetModel,
  createdAt,
  modifiedAt,
});

for (const { name, dialect } of DIALECTS) {
  describe(`vocabularies in the store on ${name}`, () => {
    let folder = '';
    let store: Store;
    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'parley-vocabularies-'));
      store = await openStore({ dialect: dialect(folder) });
    });
    after(async () => {
      await store.close();
      await rm(folder, { recursive: true });
    });

    const made = async (id: string, change: Partial<VocabularyRecord> = {}) => {
      await store.vocabularies.insert(record(id, change));
      return record(id, change);
    };
    const count = (place: Parameters<Store['vocabularies']['lockCount']>[0]) =>
      store.transaction(({ vocabularies }) => vocabularies.lockCount(place));

    it('gives back what was put in, and new entries whole', async () => {
      const first = await made('vocab-a-1');
      assert.deepEqual(await store.vocabularies.find(PLACE, first.id), first);
      const entries = [{ text: 'x', weight: 2 }];
      assert.equal(await store.vocabularies.replace(PLACE, first.id, { entries, at: NOW + 1 }), true);
      assert.deepEqual(await store.vocabularies.find(PLACE, first.id), { ...first, entries, modifiedAt: NOW + 1 });
      assert.equal(await store.vocabularies.remove(PLACE, first.id), true);
      assert.equal(await store.vocabularies.remove(PLACE, first.id), false);
      assert.equal(await store.vocabularies.find(PLACE, first.id), undefined);
    });

    it('lists the newest first, without entries, in pages and by prefix; those of one moment in one order', async () => {
      const place = { ...PLACE, workspace: 'lists' };
      const rows = [
        await made('vocab-a-1', place),
        await made('vocab-a-9', { ...place, modifiedAt: NOW + 9 }),
        await made('vocab-ab-2', { ...place, prefix: 'ab', createdAt: NOW + 1 }),
        await made('vocab-b-3', { ...place, prefix: 'b', createdAt: NOW + 2 }),
      ]
        .map(headOf)
        .toReversed();
      const list = (wish: object) => store.vocabularies.list(place, { limit: 10, skip: 0, ...wish });
      assert.deepEqual(await list({}), rows);
      assert.deepEqual(await list({ limit: 2, skip: 1 }), rows.slice(1, 3));
      assert.deepEqual(await list({ skip: 4 }), []);
      assert.deepEqual(await list({ prefix: 'a' }), rows.slice(2));
      assert.deepEqual(await list({ prefix: '\0' }), []);
    });

    it('shows, changes and removes nothing for another owner, and counts each for itself', async () => {
      const place = { ...PLACE, workspace: 'owned' };
      const mine = await made('vocab-a-owned', place);
      for (const stranger of STRANGERS) {
        assert.equal(await store.vocabularies.find(stranger, mine.id), undefined);
        const wish = { entries: [], at: NOW + 1 };
        assert.equal(await store.vocabularies.replace(stranger, mine.id, wish), false);
        assert.equal(await store.vocabularies.remove(stranger, mine.id), false);
        assert.deepEqual(await store.vocabularies.list(stranger, { limit: 10, skip: 0 }), []);
        assert.equal(await count(stranger), 0);
      }
      assert.deepEqual(await store.vocabularies.find(place, mine.id), mine);
      assert.equal(await count(place), 1);
    });

    it('knows none whose id has a NUL in it, and fails for none', async () => {
      await made('vocab-a-nul');
      for (const id of ['vocab-a-nul\0', '\0']) {
        assert.equal(await store.vocabularies.find(PLACE, id), undefined);
        assert.equal(await store.vocabularies.replace(PLACE, id, { entries: [], at: NOW }), false);
        assert.equal(await store.vocabularies.remove(PLACE, id), false);
      }
    });

    it('lets nobody add one between a count and the end of its transaction', async () => {
      const place = { ...PLACE, workspace: 'race' };
      const add = (at: number) =>
        store.transaction(async ({ vocabularies }) => {
          if ((await vocabularies.lockCount(place)) >= 10) return false;
          await vocabularies.insert(record(`vocab-a-race${at}`, place));
          return true;
        });
      const added = await Promise.all(Array.from({ length: 20 }, (_, at) => add(at)));
      assert.equal(added.filter(Boolean).length, 10);
      assert.equal(await count(place), 10);
    });
  });
}
