import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { KEY_CACHE_MAX, KEY_CACHE_MS } from '../../core/limits.ts';
import { sqliteDialect } from '../../store/dialects/sqlite.ts';
import { openStore, type Store } from '../../store/store.ts';
import { createAuthenticator } from './authenticate.ts';
import { ensureFirstKey } from './first-key.ts';
import type { Keys } from './key.ts';
import { createKeys } from './service.ts';
import { hashOf, newSecret } from './secret.ts';

const START = Date.parse('2026-07-01T12:00:00Z');
const DRAFT = { region: 'cn-beijing', workspace: 'primary', name: 'tests', expiresAt: undefined } as const;

let nowMs = START;
const clock = { now: () => nowMs, monotonic: () => nowMs - START };
let store: Store;
let lookups = 0;
let keys: Keys;
/** Another process on the same database: what it changes, `keys` is not told. */
let elsewhere: Keys;

beforeEach(async () => {
  nowMs = START;
  lookups = 0;
  store = await openStore({ dialect: sqliteDialect({ file: ':memory:' }) });
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
  elsewhere = createKeys({ store, clock });
});
afterEach(() => store.close());

describe('keys', () => {
  it('knows a key by its secret, and stores no secret', async () => {
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
    });
    assert.deepEqual(await keys.authenticate(secret), { status: 'valid', record });
    const stored = await store.keys.findByHash(hashOf(secret));
    assert.ok(stored && !JSON.stringify(stored).includes(secret.slice(3, 20)));
  });

  it('does not know other texts, whatever their size', async () => {
    await keys.create(DRAFT);
    for (const text of ['', 'sk-', newSecret(randomBytes), "' or 1=1 --", 'x'.repeat(1_000_000)]) {
      assert.deepEqual(await keys.authenticate(text), { status: 'unknown' });
    }
    assert.equal(lookups, 4); // a text that is too long to be a key is not even looked up
  });

  it('refuses a bad draft and makes nothing', async () => {
    await assert.rejects(keys.create({ ...DRAFT, workspace: 'a b' }), { kind: 'invalid-request', param: 'workspace' });
    assert.ok(await keys.isEmpty());
  });

  it('refuses a revoked key at once where it was revoked, and says why to the log', async () => {
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

  it('refuses a key that another process revoked after KEY_CACHE_MS, and looks it up no more often', async () => {
    const { secret, record } = await keys.create(DRAFT);
    await keys.authenticate(secret);
    await elsewhere.revoke(record.id);
    nowMs += KEY_CACHE_MS - 1;
    assert.equal((await keys.authenticate(secret)).status, 'valid');
    assert.equal(lookups, 1);
    nowMs += 1;
    assert.equal((await keys.authenticate(secret)).status, 'revoked');
    assert.equal(lookups, 2);
  });

  it('tells by its id whose a key is, while it is valid, and looks it up once in KEY_CACHE_MS', async () => {
    const { record } = await keys.create({ ...DRAFT, workspace: 'team-7', expiresAt: START + KEY_CACHE_MS + 10 });
    assert.deepEqual(await keys.findActive(record.id), record);
    nowMs += KEY_CACHE_MS - 1;
    assert.deepEqual(await keys.findActive(record.id), record);
    assert.equal(lookups, 1);
    nowMs += 1;
    assert.deepEqual(await keys.findActive(record.id), record);
    assert.equal(lookups, 2);
    nowMs += 10; // it expires while it is remembered
    assert.equal(await keys.findActive(record.id), undefined);
    assert.equal(await keys.findActive('key_nobody'), undefined);
  });

  it('does not find a revoked key by its id: at once here, and after KEY_CACHE_MS where another process revoked it', async () => {
    const [here, there] = [await keys.create(DRAFT), await keys.create(DRAFT)];
    for (const { record } of [here, there]) assert.ok(await keys.findActive(record.id));
    await elsewhere.revoke(there.record.id);
    nowMs += KEY_CACHE_MS - 1;
    assert.ok(await keys.findActive(there.record.id));
    nowMs += 1;
    assert.equal(await keys.findActive(there.record.id), undefined);
    assert.ok(await keys.findActive(here.record.id));
    await keys.revoke(here.record.id);
    assert.equal(await keys.findActive(here.record.id), undefined);
  });

  it('counts the age of what it remembers from before the lookup', async () => {
    const { secret, record } = await keys.create(DRAFT);
    const slow = createAuthenticator({
      clock,
      store: {
        ...store.keys,
        findByHash: async (hash) => {
          const stored = await store.keys.findByHash(hash);
          nowMs += KEY_CACHE_MS; // the database answered, and then the answer took its time
          return stored;
        },
      },
    });
    await slow.authenticate(secret);
    await elsewhere.revoke(record.id);
    assert.equal((await slow.authenticate(secret)).status, 'revoked');
  });

  it('refuses a key from the moment it expires, also a remembered one', async () => {
    const { secret, record } = await keys.create({ ...DRAFT, expiresAt: START + 100 });
    nowMs += 99;
    assert.equal((await keys.authenticate(secret)).status, 'valid');
    nowMs += 1;
    assert.deepEqual(await keys.authenticate(secret), { status: 'expired', record });
  });

  it('remembers unknown keys, in a bounded number, without losing the known ones', async () => {
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
          return hash === hashOf(secret) ? store.keys.findByHash(hash) : undefined;
        },
      },
    });
    await flood.authenticate(secret);
    for (let index = 0; index <= KEY_CACHE_MAX; index++) await flood.authenticate(`wrong ${index}`);
    lookups = 0;
    assert.equal((await flood.authenticate(secret)).status, 'valid');
    assert.equal(lookups, 0);
    await flood.authenticate('wrong 0'); // pushed out by the last one
    assert.equal(lookups, 1);
  });

  it('rotates: a new secret for the same place, the old one revoked', async () => {
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

  it('rotates once, however many ask, and leaves one valid key', async () => {
    const old = await keys.create(DRAFT);
    const settled = await Promise.allSettled([keys, elsewhere, keys].map((each) => each.rotate(old.record.id)));
    assert.deepEqual(settled.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected', 'rejected']);
    const active = (await keys.list({})).filter(({ revokedAt }) => revokedAt === undefined);
    assert.equal(active.length, 1);
  });

  it('does not rotate what is unknown, revoked or expired, and changes nothing then', async () => {
    const { record } = await keys.create({ ...DRAFT, expiresAt: START + 10 });
    nowMs += 10;
    await assert.rejects(keys.rotate(record.id), { kind: 'conflict', message: /has expired/ });
    await keys.revoke(record.id);
    await assert.rejects(keys.rotate(record.id), { kind: 'conflict', message: /is revoked/ });
    await assert.rejects(keys.rotate('key_nobody'), { kind: 'not-found' });
    assert.equal((await keys.list({})).length, 1);
  });
});

describe('the first key', () => {
  let folder = '';
  let keyFile = '';
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-key-'));
    keyFile = join(folder, 'key');
  });
  afterEach(() => rm(folder, { recursive: true }));
  const ensure = (by = keys) => ensureFirstKey({ keys: by, keyFile, region: 'cn-beijing' });

  it('is made once, saved for its owner alone, and read from then on', async () => {
    const first = await ensure();
    assert.ok(first?.isNew);
    assert.equal(await readFile(keyFile, 'utf8'), `${first.secret}\n`);
    assert.equal((await stat(keyFile)).mode & 0o777, 0o600);
    const check = await keys.authenticate(first.secret);
    assert.ok(check.status === 'valid' && check.record.workspace === 'primary');
    assert.deepEqual(await ensure(), { secret: first.secret, isNew: false });
    assert.equal((await keys.list({})).length, 1);
  });

  it('is one key when several processes start at once', async () => {
    const all = await Promise.all([keys, elsewhere, createKeys({ store, clock })].map((each) => ensure(each)));
    assert.equal((await keys.list({})).length, 1);
    assert.equal(new Set(all.map((each) => each?.secret)).size, 1);
    assert.equal(all.filter((each) => each?.isNew).length, 1);
  });

  it('takes up what a start left behind that was killed between file and row', async () => {
    const secret = newSecret(randomBytes);
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

  it('makes none when the operator has revoked it, or removed the file', async () => {
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
