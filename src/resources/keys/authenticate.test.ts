import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KeyRecord } from '../../core/key.ts';
import type { KeyStore } from '../../store/keys.ts';
import { KEY_CACHE_MS } from '../limits.ts';
import { createAuthenticator } from './authenticate.ts';
import { hashSecret } from './secret.ts';

const RECORD = {
  id: 'key_1',
  region: 'cn-beijing',
  workspace: 'primary',
  expiresAt: undefined,
  revokedAt: undefined,
} as Partial<KeyRecord> as KeyRecord;

test('a valid key counts as known while it is looked up again, also when the store fails', async () => {
  let now = 0;
  let answer: () => Promise<{ record: KeyRecord; hash: string } | undefined> = async () => ({
    record: RECORD,
    hash: hashSecret('sk-1'),
  });
  const { authenticate, wasValid } = createAuthenticator({
    clock: { now: () => now, monotonic: () => now },
    store: { findByHash: () => answer() } as Pick<KeyStore, 'findByHash'> as KeyStore,
  });
  assert.equal((await authenticate('sk-1')).status, 'valid');
  now += KEY_CACHE_MS;
  const { promise, reject } = Promise.withResolvers<undefined>();
  answer = () => promise;
  const again = authenticate('sk-1');
  assert.equal(wasValid('sk-1'), true);
  reject(new Error('the store is busy'));
  await assert.rejects(again, /busy/);
  assert.equal(wasValid('sk-1'), true);
  answer = async () => undefined;
  assert.equal((await authenticate('sk-1')).status, 'unknown');
  assert.equal(wasValid('sk-1'), false);
});

test('each kind of wrong key takes the same steps, and the store compares hashes only', async () => {
  const valid = `sk-${'a'.repeat(48)}`;
  const revoked = `sk-${'b'.repeat(48)}`;
  const expired = `sk-${'c'.repeat(48)}`;
  const rows = new Map([
    [hashSecret(valid), RECORD],
    [hashSecret(revoked), { ...RECORD, revokedAt: 1 }],
    [hashSecret(expired), { ...RECORD, expiresAt: 1 }],
  ]);
  const keys = {
    'a key that no other resembles': `sk-${'x'.repeat(48)}`,
    'all but the last character of a valid key': `${valid.slice(0, -1)}x`,
    'all but the first character of a valid key': `sk-x${'a'.repeat(47)}`,
    'the beginning of a valid key': valid.slice(0, 20),
    'a revoked key': revoked,
    'an expired key': expired,
    'the hash of a valid key': hashSecret(valid),
  };
  for (const [name, key] of Object.entries(keys)) {
    const lookups: string[] = [];
    const { authenticate } = createAuthenticator({
      clock: { now: () => 2, monotonic: () => 0 },
      store: {
        findByHash: async (hash) => {
          lookups.push(hash);
          const record = rows.get(hash);
          return record && { record, hash };
        },
      } as Pick<KeyStore, 'findByHash'> as KeyStore,
    });
    // The first check of a key looks its hash up; the second finds the result in a cache.
    for (const check of ['first', 'second']) {
      assert.notEqual((await authenticate(key)).status, 'valid', `${name}, ${check} check`);
      assert.deepEqual(lookups, [hashSecret(key)], `${name}, ${check} check`);
    }
  }
});

test('a row of another hash that the store returns is no valid key', async () => {
  const hash = hashSecret('sk-1');
  const resembling = `${hash.slice(0, -1)}${hash.endsWith('0') ? '1' : '0'}`;
  const { authenticate } = createAuthenticator({
    clock: { now: () => 0, monotonic: () => 0 },
    store: { findByHash: async () => ({ record: RECORD, hash: resembling }) } as Pick<
      KeyStore,
      'findByHash'
    > as KeyStore,
  });
  assert.equal((await authenticate('sk-1')).status, 'unknown');
});
