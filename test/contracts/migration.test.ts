import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { PGlite } from '@electric-sql/pglite';
import { DatabaseSync } from 'node:sqlite';
import type { StoreDialect } from '../../src/store/dialects/dialect.ts';
import { pgliteDialect } from '../../src/store/dialects/pglite.ts';
import { sqliteDialect } from '../../src/store/dialects/sqlite.ts';
import { openStore } from '../../src/store/store.ts';

/** What the release that knew keys alone made, word for word: it never changes. */
const RELEASED_0001 = `
  create table "migrations" ("name" text primary key, "applied_at" bigint not null);
  create table "keys" ("id" text primary key, "hash" text not null unique, "hint" text not null, "region" text not null,
    "workspace" text not null, "name" text not null, "created_at" bigint not null, "expires_at" bigint, "revoked_at" bigint);
  insert into migrations values ('0001-keys', 1790000000000);
  insert into keys values ('key_old', 'hash-old', 'wxyz', 'cn-beijing', 'primary', 'first', 1790000000123, null, null);
`;

const PLACE = { region: 'cn-beijing', workspace: 'primary' } as const;

describe('a database of the first release', () => {
  let folder = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-migration-'));
  });
  after(() => rm(folder, { recursive: true }));

  const sqlite = (): Promise<StoreDialect> => {
    const file = join(folder, 'old.db');
    const database = new DatabaseSync(file);
    database.exec(RELEASED_0001);
    database.close();
    return Promise.resolve(sqliteDialect({ file }));
  };
  const postgres = async (): Promise<StoreDialect> => {
    const pglite = new PGlite();
    await pglite.exec(RELEASED_0001);
    return pgliteDialect(pglite);
  };

  for (const [name, old] of Object.entries({ sqlite, postgres })) {
    it(`keeps its keys and takes conversations, on ${name}`, async () => {
      const store = await openStore({ dialect: await old() });
      try {
        assert.equal((await store.keys.findByHash('hash-old'))?.record.name, 'first');
        const record = { ...PLACE, id: 'conv_new', createdAt: 1, metadata: new Map([['a', 'b']]) };
        await store.conversations.insert(record, { nextPosition: 1 });
        const where = { ...PLACE, container: 'conv_new' };
        await store.items.insert(where, [{ id: 'msg_1', json: '{}' }], { position: 0 });
        assert.deepEqual(await store.conversations.find(PLACE, 'conv_new'), record);
        assert.equal((await store.items.find(where, 'msg_1'))?.id, 'msg_1');
        assert.equal(await store.responses.find(PLACE, 'resp_1'), undefined);
      } finally {
        await store.close();
      }
    });
  }
});
