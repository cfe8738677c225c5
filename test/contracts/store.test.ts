import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ServiceError } from '../../src/core/error.ts';
import type { KeyRecord } from '../../src/core/key.ts';
import type { Store } from '../../src/store/store.ts';
import { describeOnDialects } from './__fixtures__/describe-on-dialects.ts';

/** A timestamp that does not fit into 32 bits. */
const NOW = 1_790_000_000_123;

const createRecord = (id: string, change: Partial<KeyRecord> = {}): KeyRecord => ({
  id,
  region: 'cn-beijing',
  workspace: 'primary',
  name: 'tests',
  hint: 'wxyz',
  createdAt: NOW,
  expiresAt: undefined,
  revokedAt: undefined,
  usedAt: undefined,
  ...change,
});

describeOnDialects('store', ({ onOpen }) => {
  let store: Store;
  onOpen((opened) => void ({ store } = opened));

  // The first test, while there are no keys of other tests.
  it('knows whether another workspace has a valid key', async () => {
    const hasOther = (workspace: string) => store.keys.hasOtherWorkspace(workspace, NOW);
    assert.equal(await hasOther('primary'), false);
    await store.keys.insert({ record: createRecord('key_primary'), hash: 'hash-primary' });
    const ended = { workspace: 'ended', expiresAt: NOW };
    await store.keys.insert({ record: createRecord('key_ended', ended), hash: 'hash-ended' });
    assert.deepEqual([await hasOther('primary'), await hasOther('team')], [false, true]);
    await store.keys.insert({ record: createRecord('key_team', { workspace: 'team' }), hash: 'hash-team' });
    assert.equal(await hasOther('primary'), true);
    await store.keys.revoke('key_team', NOW);
    assert.equal(await hasOther('primary'), false);
  });

  it('returns a key unchanged, by id and by hash', async () => {
    const key = createRecord('key_roundtrip', { name: "O'Brien 密钥 🔑", expiresAt: NOW + 1 });
    await store.keys.insert({ record: key, hash: 'hash-roundtrip' });
    assert.deepEqual(await store.keys.find(key.id), key);
    assert.deepEqual(await store.keys.findByHash('hash-roundtrip'), { record: key, hash: 'hash-roundtrip' });
    assert.equal(await store.keys.find('key_other'), undefined);
    assert.equal(await store.keys.findByHash('hash-other'), undefined);
  });

  it('records the last use of keys, and never an earlier one', async () => {
    for (const id of ['key_use_1', 'key_use_2', 'key_use_3'])
      await store.keys.insert({ record: createRecord(id), hash: `hash-${id}` });
    await store.keys.recordUses(['key_use_1', 'key_use_2', 'key_gone'], NOW + 60_000);
    await store.keys.recordUses(['key_use_2'], NOW);
    await store.keys.recordUses(['key_use_1'], NOW + 120_000);
    const usedAt = async (id: string) => (await store.keys.find(id))?.usedAt;
    assert.equal(await usedAt('key_use_1'), NOW + 120_000);
    assert.equal(await usedAt('key_use_2'), NOW + 60_000);
    assert.equal(await usedAt('key_use_3'), undefined);
  });

  it('rejects a second key with the same hash or id with an internal error and its cause', async () => {
    await store.keys.insert({ record: createRecord('key_twice'), hash: 'hash-twice' });
    for (const again of [
      { record: createRecord('key_twice_2'), hash: 'hash-twice' },
      { record: createRecord('key_twice'), hash: 'hash-twice-2' },
    ]) {
      await assert.rejects(
        store.keys.insert(again),
        (error) => error instanceof ServiceError && error.kind === 'internal' && error.cause instanceof Error,
      );
    }
  });

  it('finds no key by an id with a NUL character, and does not fail', async () => {
    for (const id of ['key_1\0', '\0']) {
      assert.equal(await store.keys.find(id), undefined);
      assert.equal(await store.keys.revoke(id, 1), undefined);
      await store.keys.list({ after: id, limit: 1 });
    }
  });

  it('returns the record to one of several concurrent revocations', async () => {
    await store.keys.insert({ record: createRecord('key_revoke'), hash: 'hash-revoke' });
    const revoked = await Promise.all([1, 2, 3].map((at) => store.keys.revoke('key_revoke', NOW + at)));
    const [winner, ...others] = revoked.filter((one) => one !== undefined);
    assert.equal(others.length, 0);
    assert.deepEqual(await store.keys.find('key_revoke'), winner);
    assert.equal(await store.keys.revoke('key_nobody', NOW), undefined);
  });

  it('lists by region and workspace, in order of ids, page by page', async () => {
    const scope = { region: 'us-east-1', workspace: 'list' } as const;
    for (const id of ['key_l3', 'key_l1', 'key_l2']) {
      await store.keys.insert({ record: createRecord(id, scope), hash: `hash-${id}` });
    }
    await store.keys.insert({
      record: createRecord('key_l4', { ...scope, workspace: 'other' }),
      hash: 'hash-key_l4',
    });
    const ids = (keys: readonly KeyRecord[]) => keys.map(({ id }) => id);
    assert.deepEqual(ids(await store.keys.list({ ...scope, limit: 2 })), ['key_l1', 'key_l2']);
    assert.deepEqual(ids(await store.keys.list({ ...scope, limit: 2, after: 'key_l2' })), ['key_l3']);
    assert.deepEqual(ids(await store.keys.list({ region: 'us-east-1', limit: 9, after: 'key_l2' })), [
      'key_l3',
      'key_l4',
    ]);
  });

  it('rolls back a failed transaction, and continues to work', async () => {
    const failure = new ServiceError('conflict', 'changed my mind');
    await assert.rejects(
      store.transaction(async ({ keys }) => {
        await keys.insert({ record: createRecord('key_undone'), hash: 'hash-undone' });
        assert.ok(await keys.find('key_undone'));
        throw failure;
      }),
      (error) => error === failure,
    );
    assert.equal(await store.keys.find('key_undone'), undefined);
    const id = await store.transaction(async ({ keys }) => {
      await keys.insert({ record: createRecord('key_done'), hash: 'hash-done' });
      return 'key_done';
    });
    assert.ok(await store.keys.find(id));
  });

  it('lets a key expire, at the earlier of two times, unless it is revoked', async () => {
    await store.keys.insert({ record: createRecord('key_expiring'), hash: 'hash-expiring' });
    assert.equal((await store.keys.expire('key_expiring', NOW + 2))?.expiresAt, NOW + 2);
    assert.equal((await store.keys.expire('key_expiring', NOW + 3))?.expiresAt, NOW + 2);
    assert.equal((await store.keys.expire('key_expiring', NOW + 1))?.expiresAt, NOW + 1);
    assert.equal((await store.keys.find('key_expiring'))?.expiresAt, NOW + 1);
    await store.keys.revoke('key_expiring', NOW);
    assert.equal(await store.keys.expire('key_expiring', NOW), undefined);
    assert.equal(await store.keys.expire('key_nobody', NOW), undefined);
  });

  it('runs concurrent transactions one after another', async () => {
    await store.keys.insert({ record: createRecord('key_race'), hash: 'hash-race' });
    const rotate = (index: number) =>
      store.transaction<number>(async ({ keys }) => {
        if (!(await keys.revoke('key_race', NOW))) return 0;
        await keys.insert({ record: createRecord(`key_race_${index}`), hash: `hash-race-${index}` });
        return 1;
      });
    const insertCounts = await Promise.all([1, 2, 3, 4].map(rotate));
    assert.equal(
      insertCounts.reduce((sum, count) => sum + count, 0),
      1,
    );
  });

  it('rejects the use of the outer tables inside a transaction instead of waiting forever', async () => {
    await assert.rejects(
      store.transaction(() => store.keys.find('key_roundtrip')),
      (error) => error instanceof ServiceError && error.cause instanceof Error && error.cause.name === 'AssertionError',
    );
    assert.ok(await store.keys.find('key_roundtrip'));
  });
});
