import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { KEY_CACHE_ENTRIES_MAX, KEY_CACHE_MS } from '../limits.ts';
import { openTestStore } from '../../store/__fixtures__/open-test-store.ts';
import type { Store } from '../../store/store.ts';
import { createAuthenticator } from './authenticate.ts';
import { ensureFirstKey } from './first-key.ts';
import type { Keys } from './key.ts';
import { createKeys } from './service.ts';
import { hashSecret, createSecret } from './secret.ts';

const START = Date.parse('2026-07-01T12:00:00Z');
const DRAFT = { region: 'cn-beijing', workspace: 'primary', name: 'tests', expiresAt: undefined } as const;

let nowMs = START;
const clock = { now: () => nowMs, monotonic: () => nowMs - START };
let store: Store;
let lookups = 0;
let keys: Keys;
/** The service of another process on the same database; `keys` gets no notice of its changes. */
let otherProcessKeys: Keys;

beforeEach(async () => {
  nowMs = START;
  lookups = 0;
  store = await openTestStore();
  const counted: Store = {
    ...store,
    keys: {
      ...store.keys,
      findByHash: (hash) => {
        lookups += 1;
        return store.keys.findByHash(hash);
      },
      find: (id) => {
        lookups += 1;
        return store.keys.find(id);
      },
    },
  };
  keys = createKeys({ store: counted, clock });
  otherProcessKeys = createKeys({ store, clock });
});
afterEach(() => store.close());

describe('keys', () => {
  it('authenticates a key by its secret and stores no secret', async () => {
    const { secret, record } = await keys.create({ ...DRAFT, workspace: 'team-7', region: 'us-east-1' });
    assert.match(record.id, /^key_[0-9a-f]{32}$/);
    assert.deepEqual(record, {
      ...DRAFT,
      workspace: 'team-7',
      region: 'us-east-1',
      id: record.id,
      hint: secret.slice(-4),
      createdAt: START,
      revokedAt: undefined,
      usedAt: undefined,
    });
    assert.deepEqual(await keys.authenticate(secret), { status: 'valid', record });
    const stored = await store.keys.findByHash(hashSecret(secret));
    assert.ok(stored && !JSON.stringify(stored).includes(secret.slice(3, 20)));
  });

  it('does not authenticate other texts of any size', async () => {
    await keys.create(DRAFT);
    for (const text of ['', 'sk-', createSecret(randomBytes), "' or 1=1 --", 'x'.repeat(1_000_000)]) {
      assert.deepEqual(await keys.authenticate(text), { status: 'unknown' });
    }
    assert.equal(lookups, 4); // a text above the maximum length is not looked up
  });

  it('refuses an invalid draft and creates nothing', async () => {
    await assert.rejects(keys.create({ ...DRAFT, workspace: 'a b' }), { kind: 'invalid-request', param: 'workspace' });
    assert.ok(await keys.isEmpty());
  });

  it('refuses a revoked key at once in the process that revoked it, with the status for the log', async () => {
    const { secret, record } = await keys.create(DRAFT);
    await keys.authenticate(secret);
    nowMs += 10;
    const revoked = await keys.revoke(record.id);
    assert.equal(revoked.revokedAt, nowMs);
    assert.deepEqual(await keys.authenticate(secret), { status: 'revoked', record: revoked });
    nowMs += 10;
    assert.deepEqual(await keys.revoke(record.id), revoked);
    await assert.rejects(keys.revoke('key_nobody'), { kind: 'not-found' });
  });

  it('remembers that a key was valid beyond KEY_CACHE_MS, without a lookup, until it is revoked', async () => {
    const { secret, record } = await keys.create(DRAFT);
    assert.equal(keys.wasValid(secret), false);
    await keys.authenticate(secret);
    nowMs += KEY_CACHE_MS * 100;
    assert.equal(keys.wasValid(secret), true);
    assert.equal(keys.wasValid(`${secret}x`), false);
    assert.equal(lookups, 1);
    await keys.revoke(record.id);
    assert.equal(keys.wasValid(secret), false);
  });

  it('refuses a key that another process revoked within KEY_CACHE_MS, with one lookup per KEY_CACHE_MS', async () => {
    const { secret, record } = await keys.create(DRAFT);
    await keys.authenticate(secret);
    await otherProcessKeys.revoke(record.id);
    nowMs += KEY_CACHE_MS - 1;
    assert.equal((await keys.authenticate(secret)).status, 'valid');
    assert.equal(lookups, 1);
    nowMs += 1;
    assert.equal((await keys.authenticate(secret)).status, 'revoked');
    assert.equal(lookups, 2);
  });

  it('finds an active key by its id, with one lookup per KEY_CACHE_MS', async () => {
    const { record } = await keys.create({ ...DRAFT, workspace: 'team-7', expiresAt: START + KEY_CACHE_MS + 10 });
    assert.deepEqual(await keys.findActive(record.id), record);
    nowMs += KEY_CACHE_MS - 1;
    assert.deepEqual(await keys.findActive(record.id), record);
    assert.equal(lookups, 1);
    nowMs += 1;
    assert.deepEqual(await keys.findActive(record.id), record);
    assert.equal(lookups, 2);
    nowMs += 10; // the key expires while it is cached
    assert.equal(await keys.findActive(record.id), undefined);
    assert.equal(await keys.findActive('key_nobody'), undefined);
  });

  it('does not find a revoked key by its id: at once in this process, within KEY_CACHE_MS in others', async () => {
    const [here, there] = [await keys.create(DRAFT), await keys.create(DRAFT)];
    for (const { record } of [here, there]) assert.ok(await keys.findActive(record.id));
    await otherProcessKeys.revoke(there.record.id);
    nowMs += KEY_CACHE_MS - 1;
    assert.ok(await keys.findActive(there.record.id));
    nowMs += 1;
    assert.equal(await keys.findActive(there.record.id), undefined);
    assert.ok(await keys.findActive(here.record.id));
    await keys.revoke(here.record.id);
    assert.equal(await keys.findActive(here.record.id), undefined);
  });

  it('counts the age of a cached key from before the lookup', async () => {
    const { secret, record } = await keys.create(DRAFT);
    const slow = createAuthenticator({
      clock,
      store: {
        ...store.keys,
        findByHash: async (hash) => {
          const stored = await store.keys.findByHash(hash);
          nowMs += KEY_CACHE_MS; // the reply of the database is delayed
          return stored;
        },
      },
    });
    await slow.authenticate(secret);
    await otherProcessKeys.revoke(record.id);
    assert.equal((await slow.authenticate(secret)).status, 'revoked');
  });

  it('refuses a key from its expiry on, even a cached one', async () => {
    const { secret, record } = await keys.create({ ...DRAFT, expiresAt: START + 100 });
    nowMs += 99;
    assert.equal((await keys.authenticate(secret)).status, 'valid');
    nowMs += 1;
    assert.deepEqual(await keys.authenticate(secret), { status: 'expired', record });
  });

  it('caches a bounded number of unknown keys without evicting valid ones', async () => {
    const { secret } = await keys.create(DRAFT);
    await keys.authenticate(secret);
    await keys.authenticate('wrong');
    await keys.authenticate('wrong');
    assert.equal(lookups, 2);
    const flood = createAuthenticator({
      clock,
      store: {
        ...store.keys,
        findByHash: async (hash) => {
          lookups += 1;
          return hash === hashSecret(secret) ? store.keys.findByHash(hash) : undefined;
        },
      },
    });
    await flood.authenticate(secret);
    for (let index = 0; index <= KEY_CACHE_ENTRIES_MAX; index++) await flood.authenticate(`wrong ${index}`);
    lookups = 0;
    assert.equal((await flood.authenticate(secret)).status, 'valid');
    assert.equal(lookups, 0);
    await flood.authenticate('wrong 0'); // evicted by the last one
    assert.equal(lookups, 1);
  });

  it('rotates a key: creates a secret with the same properties and revokes the old one', async () => {
    const old = await keys.create({ ...DRAFT, workspace: 'team-7', expiresAt: START + 1000 });
    nowMs += 10;
    const next = await keys.rotate(old.record.id);
    assert.notEqual(next.secret, old.secret);
    assert.deepEqual(next.record, {
      ...old.record,
      id: next.record.id,
      hint: next.secret.slice(-4),
      createdAt: nowMs,
    });
    assert.equal((await keys.authenticate(old.secret)).status, 'revoked');
    assert.equal((await keys.authenticate(next.secret)).status, 'valid');
  });

  it('keeps the old key valid for a time of overlap, but never longer than before', async () => {
    const old = await keys.create({ ...DRAFT, expiresAt: undefined });
    const next = await keys.rotate(old.record.id, nowMs + 500);
    assert.equal(next.record.expiresAt, undefined);
    const check = async () => [
      (await keys.authenticate(old.secret)).status,
      (await keys.authenticate(next.secret)).status,
      await keys.isActive(old.record.id),
    ];
    assert.deepEqual(await check(), ['valid', 'valid', true]);
    nowMs += 500;
    assert.deepEqual(await check(), ['expired', 'valid', false]);
    const short = await keys.create({ ...DRAFT, expiresAt: nowMs + 100 });
    await keys.rotate(short.record.id, nowMs + 500);
    assert.equal((await otherProcessKeys.findActive(short.record.id))?.expiresAt, nowMs + 100);
    await keys.revoke(next.record.id);
    await assert.rejects(keys.rotate(next.record.id, nowMs + 500), { kind: 'conflict', message: /is revoked/ });
  });

  it('rotates once for concurrent calls and leaves one valid key', async () => {
    const old = await keys.create(DRAFT);
    const settled = await Promise.allSettled([keys, otherProcessKeys, keys].map((each) => each.rotate(old.record.id)));
    assert.deepEqual(settled.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected', 'rejected']);
    const active = (await keys.list({})).filter(({ revokedAt }) => revokedAt === undefined);
    assert.equal(active.length, 1);
  });

  it('refuses to rotate an unknown, revoked or expired key and changes nothing', async () => {
    const { record } = await keys.create({ ...DRAFT, expiresAt: START + 10 });
    nowMs += 10;
    await assert.rejects(keys.rotate(record.id), { kind: 'conflict', message: /has expired/ });
    await keys.revoke(record.id);
    await assert.rejects(keys.rotate(record.id), { kind: 'conflict', message: /is revoked/ });
    await assert.rejects(keys.rotate('key_nobody'), { kind: 'not-found' });
    assert.equal((await keys.list({})).length, 1);
  });
});

describe('ensureFirstKey', () => {
  let folder = '';
  let keyFile = '';
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-key-'));
    keyFile = join(folder, 'key');
  });
  afterEach(() => rm(folder, { recursive: true }));
  const ensure = (by = keys) => ensureFirstKey({ keys: by, keyFile, region: 'cn-beijing' });

  it('creates the key once, saves it with mode 0600, and returns it later', async () => {
    const first = await ensure();
    assert.ok(first?.isNew);
    assert.equal(await readFile(keyFile, 'utf8'), `${first.secret}\n`);
    assert.equal((await stat(keyFile)).mode & 0o777, 0o600);
    const check = await keys.authenticate(first.secret);
    assert.ok(check.status === 'valid' && check.record.workspace === 'primary');
    assert.deepEqual(await ensure(), { secret: first.secret, isNew: false });
    assert.equal((await keys.list({})).length, 1);
  });

  it('creates one key when several processes start at once', async () => {
    const all = await Promise.all([keys, otherProcessKeys, createKeys({ store, clock })].map((each) => ensure(each)));
    assert.equal((await keys.list({})).length, 1);
    assert.equal(new Set(all.map((each) => each?.secret)).size, 1);
    assert.equal(all.filter((each) => each?.isNew).length, 1);
  });

  it('registers the saved secret after a crash between file and row', async () => {
    const secret = createSecret(randomBytes);
    await writeFile(keyFile, `${secret}\n`);
    assert.deepEqual(await ensure(), { secret, isNew: true });
    assert.equal((await keys.authenticate(secret)).status, 'valid');
  });

  it('replaces a file that never held a key', async () => {
    await writeFile(keyFile, '');
    const first = await ensure();
    assert.ok(first?.isNew);
    assert.equal(await readFile(keyFile, 'utf8'), `${first.secret}\n`);
  });

  it('creates no key after the operator revoked it or removed the file', async () => {
    const first = await ensure();
    assert.ok(first);
    await rm(keyFile);
    assert.equal(await ensure(), undefined);
    await writeFile(keyFile, first.secret);
    const [record] = await keys.list({});
    assert.ok(record);
    await keys.revoke(record.id);
    assert.equal(await ensure(), undefined);
    assert.equal((await keys.list({})).length, 1);
  });
});
