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
