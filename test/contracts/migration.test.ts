import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { DatabaseSync } from 'node:sqlite';
import type { StoreDialect } from '../../src/store/dialects/dialect.ts';
import { createSqliteDialect } from '../../src/store/dialects/sqlite.ts';
import { openStore } from '../../src/store/store.ts';
import { createTestPgliteDialect } from './__fixtures__/dialects.ts';

/** Schema and data of the first release, which had only keys. Never changes. */
const RELEASED_0001 = `
  create table "migrations" ("name" text primary key, "applied_at" bigint not null);
  create table "keys" ("id" text primary key, "hash" text not null unique, "hint" text not null, "region" text not null,
    "workspace" text not null, "name" text not null, "created_at" bigint not null, "expires_at" bigint, "revoked_at" bigint);
  insert into migrations values ('0001-keys', 1790000000000);
  insert into keys values ('key_old', 'hash-old', 'wxyz', 'cn-beijing', 'primary', 'first', 1790000000123, null, null);
`;

const SCOPE = { region: 'cn-beijing', workspace: 'primary' } as const;

describe('migration of a database of the first release', () => {
  let folder = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-migration-'));
  });
  after(() => rm(folder, { recursive: true }));

  const createOldSqlite = (): Promise<StoreDialect> => {
    const file = join(folder, 'old.db');
    const database = new DatabaseSync(file);
    database.exec(RELEASED_0001);
    database.close();
    return Promise.resolve(createSqliteDialect({ file }));
  };
  const createOldPglite = (): Promise<StoreDialect> =>
    Promise.resolve(createTestPgliteDialect({ initialSql: RELEASED_0001 }));

  for (const [name, openOldDatabase] of Object.entries({ sqlite: createOldSqlite, postgres: createOldPglite })) {
    it(`keeps its keys and accepts conversations (${name})`, async () => {
      const store = await openStore({ dialect: await openOldDatabase() });
      try {
        const old = (await store.keys.findByHash('hash-old'))?.record;
        assert.deepEqual([old?.name, old?.usedAt], ['first', undefined]);
        const record = { ...SCOPE, id: 'conv_new', createdAt: 1, metadata: new Map([['a', 'b']]) };
        await store.conversations.insert(record, { nextPosition: 1 });
        const containerScope = { ...SCOPE, container: 'conv_new' };
        await store.items.insert(containerScope, [{ id: 'msg_1', json: '{}' }], { position: 0 });
        assert.deepEqual(await store.conversations.find(SCOPE, 'conv_new'), record);
        assert.equal((await store.items.find(containerScope, 'msg_1'))?.id, 'msg_1');
        assert.equal(await store.responses.find(SCOPE, 'resp_1'), undefined);
      } finally {
        await store.close();
      }
    });
  }
});
